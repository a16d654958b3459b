"""Arms with several levels: permutations, nested removals, margins, positions, crops."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from math import ceil, factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyread.arms.presentation import ImageMode, Levels, SliceFacts
from steadyread.arms.registry import ARMS
from steadyread.contracts.enums import ArmName, Reason
from steadyread.contracts.problems import CaseProblem

OPTIONS = ("GBM", "MET", "UNSURE")
BOX = (1.0, 1.0, 4.0, 4.0)


def facts_of(flags, seed=1, boxes=None, **levels):
    """A case of which every sampled slice is annotated."""
    count = len(flags)
    if boxes is None:
        boxes = tuple((BOX,) if flag else () for flag in flags)
    return SliceFacts(tuple(range(count)), tuple(flags), sum(flags), OPTIONS, (seed, "item"), boxes, Levels(**levels))


def shown(name, facts):
    """Variant → slices in shown order."""
    return {p.variant: p.shown for p in ARMS[name].function(facts)}


def reason(name, facts):
    with pytest.raises(CaseProblem) as caught:
        ARMS[name].function(facts)
    return caught.value.reason


annotated = st.lists(st.booleans(), min_size=2, max_size=24).filter(any)
mixed = annotated.filter(lambda flags: not all(flags))

# --- shuffle -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "k", "seed"), [*itertools.product((2, 3, 4), range(1, 6), range(12))])
def test_permutations_differ_from_identity_reversal_and_each_other_where_n_factorial_allows(count, k, seed):
    found = shown(ArmName.SHUFFLE, facts_of([False] * count, seed, shuffles=k))
    assert list(found) == [str(number) for number in range(1, k + 1)]
    identity, reversal = tuple(range(count)), tuple(range(count))[::-1]
    orders = list(found.values())
    assert identity not in orders
    assert all(sorted(order) == list(identity) for order in orders)
    free = factorial(count) - 2
    assert len(set(orders)) == min(k, free + 1)
    assert (reversal in orders) == (k > free)


@given(st.integers(5, 24), st.integers(0, 50))
def test_many_slices_have_five_orders_apart(count, seed):
    orders = set(shown(ArmName.SHUFFLE, facts_of([False] * count, seed, shuffles=5)).values())
    assert len(orders) == 5
    assert not orders & {tuple(range(count)), tuple(range(count))[::-1]}


@given(st.integers(2, 12), st.integers(0, 20), st.integers(1, 4))
def test_a_permutation_does_not_depend_on_how_many_are_asked(count, seed, k):
    few = shown(ArmName.SHUFFLE, facts_of([False] * count, seed, shuffles=k))
    many = shown(ArmName.SHUFFLE, facts_of([False] * count, seed, shuffles=5))
    assert {variant: many[variant] for variant in few} == few


def test_over_many_seeds_every_order_left_is_drawn_about_equally_often():
    """Four slices have 22 orders that are neither anatomical nor reversed."""
    drawn = Counter(shown(ArmName.SHUFFLE, facts_of([False] * 4, seed))["1"] for seed in range(4400))
    assert len(drawn) == 22
    # Binomial(4400, 1/22): mean 200, standard deviation 13.8; five of them either way.
    assert all(131 < count < 269 for count in drawn.values())


# --- part of the lesion, and more than it ------------------------------------------------------


@given(mixed, st.integers(0, 20))
def test_a_smaller_share_takes_slices_that_a_larger_one_takes_too(flags, seed):
    shares = (0.1, 0.25, 0.5, 0.75, 1.0)
    facts = facts_of(flags, seed, fractions=shares)
    found = [set(facts.sampled) - set(order) for order in shown(ArmName.REMOVE_FRACTION, facts).values()]
    assert all(small <= large for small, large in itertools.pairwise(found))
    assert found[-1] == set(facts.lesion)
    assert [len(removed) for removed in found] == [ceil(round(share * sum(flags), 9)) for share in shares]


@pytest.mark.parametrize(("share", "lesions", "removed"), [(0.1, 10, 1), (0.1, 30, 3), (0.7, 10, 7), (0.25, 5, 2)])
def test_a_share_that_comes_out_whole_is_not_rounded_up(share, lesions, removed):
    facts = facts_of([True] * lesions + [False], fractions=(share,))
    assert len(shown(ArmName.REMOVE_FRACTION, facts)[repr(share)]) == lesions + 1 - removed


@given(mixed, st.integers(0, 5))
def test_taking_the_whole_lesion_shows_what_lesion_removed_shows(flags, seed):
    facts = facts_of(flags, seed, fractions=(0.5, 1.0))
    assert shown(ArmName.REMOVE_FRACTION, facts)["1"] == shown(ArmName.LESION_REMOVED, facts)[""]


def test_a_case_whose_every_slice_shows_the_lesion_is_at_no_level():
    for fractions in ((0.25,), (0.25, 1.0)):
        assert reason(ArmName.REMOVE_FRACTION, facts_of([True] * 4, fractions=fractions)) is Reason.NO_SLICE_LEFT


def test_the_margin_is_counted_in_sampled_slices_and_in_both_directions():
    flags = [False, False, False, True, False, False, False, True]
    found = {m: shown(ArmName.LESION_REMOVED_MARGIN, facts_of(flags, margin=m)) for m in (1, 2)}
    assert found == {1: {"1": (0, 1, 5)}, 2: {"2": (0,)}}
    assert reason(ArmName.LESION_REMOVED_MARGIN, facts_of(flags, margin=3)) is Reason.NO_SLICE_LEFT


@given(mixed, st.integers(1, 4))
def test_what_is_left_lies_further_from_the_lesion_than_the_margin(flags, margin):
    try:
        [left] = shown(ArmName.LESION_REMOVED_MARGIN, facts_of(flags, margin=margin)).values()
    except CaseProblem as problem:
        assert problem.reason is Reason.NO_SLICE_LEFT
        left = ()
    lesion = [place for place, flag in enumerate(flags) if flag]
    assert list(left) == [place for place in range(len(flags)) if min(abs(place - at) for at in lesion) > margin]


# --- the lesion as a block ---------------------------------------------------------------------


@given(mixed)
def test_blocks_keep_their_anatomical_order_at_every_position(flags):
    facts = facts_of(flags, positions=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0))
    for name in (ArmName.ROI_FIRST, ArmName.ROI_LAST, ArmName.ROI_AT):
        for order in shown(name, facts).values():
            lesion = [index for index in order if index in facts.lesion]
            assert lesion == list(facts.lesion)
            assert [index for index in order if index not in facts.lesion] == list(facts.others)
            start = order.index(lesion[0])
            assert order[start : start + len(lesion)] == facts.lesion, "one block"


@given(mixed)
def test_the_ends_of_the_curve_are_lesion_first_and_lesion_last(flags):
    facts = facts_of(flags, positions=(0.0, 1.0))
    curve = shown(ArmName.ROI_AT, facts)
    assert curve["0"] == shown(ArmName.ROI_FIRST, facts)[""]
    assert curve["1"] == shown(ArmName.ROI_LAST, facts)[""]


@pytest.mark.parametrize(("others", "before"), [(1, 1), (2, 1), (3, 2), (5, 3), (7, 4)])
def test_half_a_slice_is_rounded_up(others, before):
    facts = facts_of([True] + [False] * others, positions=(0.5,))
    assert shown(ArmName.ROI_AT, facts)["0.5"].index(0) == before


def test_the_position_that_is_the_anatomical_one_counts():
    facts = facts_of([False, True, False], positions=(0.5,))
    assert shown(ArmName.ROI_AT, facts)["0.5"] == (0, 1, 2)
    assert ARMS[ArmName.ROI_AT].may_equal_base


@given(annotated)
def test_lesion_slices_only_and_lesion_removed_share_the_case_between_them(flags):
    facts = facts_of(flags)
    assert shown(ArmName.ROI_SLICES, facts)[""] == facts.lesion
    if not all(flags):
        assert sorted(facts.lesion + shown(ArmName.LESION_REMOVED, facts)[""]) == list(facts.sampled)


# --- crops -------------------------------------------------------------------------------------


def box(side):
    return (0.0, 0.0, float(side), float(side))


def test_every_component_of_every_lesion_slice_has_its_crop_feet_to_head():
    boxes = ((), (box(2), box(3)), (box(5),), ())
    [crops] = ARMS[ArmName.ROI_CROPS].function(facts_of([False, True, True, False], boxes=boxes))
    assert (crops.shown, crops.boxes, crops.removed) == ((1, 1, 2), (box(2), box(3), box(5)), (0, 3))
    assert crops.image_mode is ImageMode.CROPS


def test_no_more_crops_than_base_shows_slices_and_the_largest_are_kept_in_place():
    boxes = ((box(4), box(1), box(9)), (box(7), box(4)), ())
    [crops] = ARMS[ArmName.ROI_CROPS].function(facts_of([True, True, False], boxes=boxes))
    assert list(zip(crops.shown, crops.boxes, strict=True)) == [(0, box(4)), (0, box(9)), (1, box(7))]


@pytest.mark.parametrize("boxes", [((BOX,), (), ()), ((), (), ())])
def test_one_lesion_slice_without_box_costs_the_case_its_crops(boxes):
    assert reason(ArmName.ROI_CROPS, facts_of([True, True, False], boxes=boxes)) is Reason.NO_BOX


def test_a_case_of_which_no_boxes_are_known_has_no_crops():
    facts = replace(facts_of([True, False]), boxes=None)
    assert reason(ArmName.ROI_CROPS, facts) is Reason.NO_BOX


def test_a_box_on_a_slice_that_does_not_count_as_lesion_is_no_crop():
    """A slice under lesions.min_area_mm2 may still have a box in a table."""
    [crops] = ARMS[ArmName.ROI_CROPS].function(facts_of([True, False], boxes=((BOX,), (BOX,))))
    assert crops.shown == (0,)
