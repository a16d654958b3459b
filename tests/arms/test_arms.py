"""What each arm shows of a case, stated over drawn cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyread.arms.presentation import ImageMode, Levels, Presentation, SliceFacts
from steadyread.arms.registry import ARMS, EVIDENCE_PRESERVING, PROTOCOL_EVIDENCE_PRESERVING
from steadyread.contracts.enums import LESION_ARMS, SLICE_ORDER_ARMS, ArmName, Mark, Reason
from steadyread.contracts.problems import CaseProblem

TWO = ("GBM", "MET", "UNSURE")
LEVELS = Levels(shuffles=5, fractions=(0.25, 0.5, 0.75, 1.0), positions=(0.0, 0.25, 0.5, 0.75, 1.0), margin=2)
SEEDED = {ArmName.MATCHED_REMOVED, ArmName.SHUFFLE, ArmName.REMOVE_FRACTION}
UNSURE_MOVES = {ArmName.LABEL_CYCLE, ArmName.ABSTAIN_FIRST}


def facts_of(
    flags: list[bool] | None,
    count: int | None = None,
    total: int | None = None,
    options: tuple[str, ...] = TWO,
    seed: int = 1,
    levels: Levels = LEVELS,
) -> SliceFacts:
    """Facts of a case whose slices lie three apart in the volume, with a box on every lesion slice."""
    count = len(flags) if flags is not None else (count or 1)
    return SliceFacts(
        sampled=tuple(range(5, 5 + 3 * count, 3)),
        lesion_flags=None if flags is None else tuple(flags),
        lesion_slices_in_volume=None if flags is None else (sum(flags) if total is None else total),
        options=options,
        seed_parts=(seed, "item"),
        boxes=tuple(((1.0, 2.0, 3.0, 4.0),) if flag else () for flag in flags or [False] * count),
        levels=levels,
    )


@st.composite
def cases(draw: st.DrawFn) -> SliceFacts:
    flags = draw(st.lists(st.booleans(), min_size=1, max_size=30))
    labels = draw(st.sampled_from([("GBM", "MET"), ("a", "b", "c"), ("a", "b", "c", "d")]))
    unsure = draw(st.booleans())
    annotated = draw(st.booleans())
    return facts_of(
        flags if annotated else None,
        count=len(flags),
        options=(*labels, "UNSURE") if unsure else labels,
        seed=draw(st.integers(0, 5)),
    )


def show(name: ArmName, facts: SliceFacts) -> list[Presentation]:
    return ARMS[name].function(facts)


def shown_if_it_fits(name: ArmName, facts: SliceFacts) -> list[Presentation]:
    try:
        return show(name, facts)
    except CaseProblem:
        return []


def reason(name: ArmName, facts: SliceFacts) -> Reason:
    with pytest.raises(CaseProblem) as caught:
        show(name, facts)
    return caught.value.reason


# --- the register ------------------------------------------------------------------------------


def test_the_register_holds_exactly_the_arms_that_exist() -> None:
    assert list(ARMS) == list(ArmName)
    assert all(arm.name is name for name, arm in ARMS.items())


def test_evidence_preserving_arms_are_the_protocol_s_closed_list() -> None:
    assert {arm.value for arm in EVIDENCE_PRESERVING} == set(PROTOCOL_EVIDENCE_PRESERVING)
    sensitive = {"repeat", "numbered", "roi_at", "roi_slices", "roi_crops"}
    assert not sensitive & {arm.value for arm in EVIDENCE_PRESERVING}


def test_arms_that_change_the_order_alone_are_evidence_preserving() -> None:
    assert {arm.name for arm in ARMS.values() if arm.order_only} == set(SLICE_ORDER_ARMS)
    assert set(SLICE_ORDER_ARMS) < set(EVIDENCE_PRESERVING)


@given(cases())
def test_arms_that_change_the_order_alone_show_every_slice_with_the_words_of_base(facts: SliceFacts) -> None:
    [base] = show(ArmName.BASE, facts)
    for name in SLICE_ORDER_ARMS:
        for shown in shown_if_it_fits(name, facts):
            assert sorted(shown.shown) == sorted(base.shown)
            assert (shown.option_order, shown.image_mode, shown.numbered) == (base.option_order, base.image_mode, False)


@given(cases())
def test_a_variant_with_a_parameter_reads_back_as_the_level_of_the_configuration(facts: SliceFacts) -> None:
    levels = {
        ArmName.REMOVE_FRACTION: LEVELS.fractions,
        ArmName.ROI_AT: LEVELS.positions,
        ArmName.LESION_REMOVED_MARGIN: (LEVELS.margin,),
    }
    assert {name for name, arm in ARMS.items() if arm.parameter} == set(levels)
    for name, expected in levels.items():
        number = ARMS[name].parameter
        found = shown_if_it_fits(name, facts)
        assert number is not None
        assert not found or [number(p.variant) for p in found] == list(expected)


def test_marks_are_those_of_the_protocol_s_table() -> None:
    of_the_paper = {name for name, arm in ARMS.items() if arm.mark is Mark.PAPER}
    assert of_the_paper == {ArmName.BASE, ArmName.REVERSE, ArmName.LABEL_SWAP, ArmName.LESION_REMOVED}
    of_a_note = {name for name, arm in ARMS.items() if arm.mark is Mark.THIRD_PARTY}
    assert {name.value for name in of_a_note} == {"shuffle", "roi_first", "roi_last", "roi_slices", "roi_crops"}
    assert {arm.mark for arm in ARMS.values()} == {Mark.PAPER, Mark.THIRD_PARTY, Mark.OWN}


def test_every_arm_but_base_is_compared_with_base() -> None:
    assert {name for name, arm in ARMS.items() if arm.reference is None} == {ArmName.BASE}
    assert {arm.reference for name, arm in ARMS.items() if name is not ArmName.BASE} == {ArmName.BASE}


@given(cases())
def test_needs_lesions_says_which_arms_refuse_a_case_without_annotation(facts: SliceFacts) -> None:
    bare = facts_of(None, count=len(facts.sampled), options=facts.options)
    for name, arm in ARMS.items():
        try:
            arm.function(bare)
            refused = False
        except CaseProblem as problem:
            refused = problem.reason is Reason.NO_ANNOTATION
        assert refused == arm.needs_lesions, name


# --- all arms ----------------------------------------------------------------------------------


@given(cases())
def test_shown_and_removed_slices_are_the_sampled_slices_each_once(facts: SliceFacts) -> None:
    for name in ArmName:
        for presentation in shown_if_it_fits(name, facts):
            # Of a slice with several lesions there may be several crops.
            shown = presentation.shown if name is not ArmName.ROI_CROPS else tuple(set(presentation.shown))
            assert sorted(shown + presentation.removed) == list(facts.sampled)


@given(cases())
def test_no_arm_drops_or_invents_an_option_and_unsure_stays_last_unless_it_is_what_moves(facts: SliceFacts) -> None:
    for name in ArmName:
        for presentation in shown_if_it_fits(name, facts):
            assert sorted(presentation.option_order) == list(range(len(facts.options)))
            if "UNSURE" in facts.options and name not in UNSURE_MOVES:
                assert facts.options[presentation.option_order[-1]] == "UNSURE"


@given(cases())
def test_evidence_preserving_arms_show_every_slice(facts: SliceFacts) -> None:
    for name in EVIDENCE_PRESERVING:
        for presentation in shown_if_it_fits(name, facts):
            assert not presentation.removed
            assert presentation.image_mode is ImageMode.SLICES


@given(cases())
def test_variants_of_an_arm_have_names_of_their_own(facts: SliceFacts) -> None:
    for name in ArmName:
        found = [(p.variant, p.replicate) for p in shown_if_it_fits(name, facts)]
        assert len(set(found)) == len(found)


@given(cases(), st.integers(0, 1000))
def test_only_what_is_drawn_depends_on_the_seed(facts: SliceFacts, seed: int) -> None:
    other = replace(facts, seed_parts=(seed, "another item"))
    for name in set(ArmName) - SEEDED:
        assert shown_if_it_fits(name, facts) == shown_if_it_fits(name, other)


def test_another_seed_or_another_item_removes_other_slices() -> None:
    flags = [False] * 12 + [True] * 2 + [False] * 12
    by_seed = {show(ArmName.MATCHED_REMOVED, facts_of(flags, seed=seed))[0].removed for seed in range(40)}
    assert len(by_seed) > 10


# --- one by one --------------------------------------------------------------------------------


@given(cases())
def test_reversing_twice_is_base(facts: SliceFacts) -> None:
    for presentation in shown_if_it_fits(ArmName.REVERSE, facts):
        assert presentation.shown[::-1] == show(ArmName.BASE, facts)[0].shown


def test_repeat_shows_what_base_shows() -> None:
    facts = facts_of([False, True, False])
    assert show(ArmName.REPEAT, facts) == show(ArmName.BASE, facts)
    assert ARMS[ArmName.REPEAT].draw == 1


def test_two_labels_are_swapped_and_unsure_stays() -> None:
    [swap] = show(ArmName.LABEL_SWAP, facts_of([True, False]))
    assert [TWO[place] for place in swap.option_order] == ["MET", "GBM", "UNSURE"]


@given(cases())
def test_over_base_and_the_cycle_every_option_stands_in_every_slot_once(facts: SliceFacts) -> None:
    orders = [p.option_order for name in (ArmName.BASE, ArmName.LABEL_CYCLE) for p in show(name, facts)]
    places = list(range(len(facts.options)))
    assert [sorted(column) for column in zip(*orders, strict=True)] == [places] * len(places)


def test_without_unsure_the_cycle_of_two_labels_is_their_swap() -> None:
    facts = facts_of([False], options=("GBM", "MET"))
    assert [p.option_order for p in show(ArmName.LABEL_CYCLE, facts)] == [(1, 0)]
    assert show(ArmName.LABEL_CYCLE, facts) == show(ArmName.LABEL_SWAP, facts)


def test_unsure_first_leaves_the_labels_in_their_order() -> None:
    [first] = show(ArmName.ABSTAIN_FIRST, facts_of([False], options=("a", "b", "c", "UNSURE")))
    assert first.option_order == (3, 0, 1, 2)


def test_numbering_changes_nothing_but_the_numbers() -> None:
    facts = facts_of([False, True])
    [base], [numbered] = show(ArmName.BASE, facts), show(ArmName.NUMBERED, facts)
    assert replace(numbered, numbered=False) == base
    assert numbered.numbered


def test_three_labels_take_every_slot_once_over_base_and_shifts() -> None:
    facts = facts_of([False], options=("a", "b", "c", "UNSURE"))
    orders = [p.option_order[:3] for name in (ArmName.BASE, ArmName.LABEL_SWAP) for p in show(name, facts)]
    assert [p.variant for p in show(ArmName.LABEL_SWAP, facts)] == ["shift1", "shift2"]
    assert [sorted(column) for column in zip(*orders, strict=True)] == [[0, 1, 2]] * 3


@given(cases())
def test_lesion_removal_removes_the_lesion_slices_and_keeps_the_order(facts: SliceFacts) -> None:
    for presentation in shown_if_it_fits(ArmName.LESION_REMOVED, facts):
        assert presentation.removed == facts.lesion
        assert list(presentation.shown) == sorted(presentation.shown)


@given(cases())
def test_matched_removal_takes_as_many_slices_and_none_with_lesion(facts: SliceFacts) -> None:
    for presentation in shown_if_it_fits(ArmName.MATCHED_REMOVED, facts):
        assert len(presentation.removed) == len(facts.lesion)
        assert not set(presentation.removed) & set(facts.lesion)
        assert set(presentation.shown) - set(facts.lesion), "a non-lesion slice is left"


@given(cases())
def test_matched_removal_fits_only_where_lesion_removal_does(facts: SliceFacts) -> None:
    if shown_if_it_fits(ArmName.MATCHED_REMOVED, facts):
        assert shown_if_it_fits(ArmName.LESION_REMOVED, facts)


def test_no_image_shows_nothing_and_blank_images_stand_for_every_slice() -> None:
    facts = facts_of([False, True])
    [none] = show(ArmName.NO_IMAGE, facts)
    [blank] = show(ArmName.BLANK_IMAGE, facts)
    [mention] = show(ArmName.MENTION_ONLY, facts)
    assert (none.shown, none.image_mode) == ((), ImageMode.NONE)
    assert (mention.shown, mention.image_mode) == ((), ImageMode.MENTION)
    assert (blank.shown, blank.image_mode) == (facts.sampled, ImageMode.BLANK)


# --- why a case does not fit -------------------------------------------------------------------


def test_the_arms_that_a_bad_annotation_costs_are_those_that_need_lesions() -> None:
    assert set(LESION_ARMS) == {arm.name for arm in ARMS.values() if arm.needs_lesions}


@pytest.mark.parametrize("name", LESION_ARMS)
def test_an_unannotated_case_is_not_a_case_without_lesion(name: ArmName) -> None:
    assert reason(name, facts_of(None, count=4)) is Reason.NO_ANNOTATION
    assert reason(name, facts_of([False] * 4)) is Reason.NO_LESION


@pytest.mark.parametrize("name", LESION_ARMS)
def test_a_lesion_that_subsampling_missed_is_said_as_such(name: ArmName) -> None:
    assert reason(name, facts_of([False] * 4, total=2)) is Reason.LESION_NOT_SAMPLED


def test_lesion_on_every_slice_leaves_nothing() -> None:
    facts = facts_of([True] * 3)
    assert reason(ArmName.LESION_REMOVED, facts) is Reason.NO_SLICE_LEFT
    assert reason(ArmName.LESION_REMOVED_MARGIN, facts) is Reason.NO_SLICE_LEFT
    assert reason(ArmName.REMOVE_FRACTION, facts) is Reason.NO_SLICE_LEFT
    assert reason(ArmName.ROI_AT, facts) is Reason.NO_CHANGE
    assert reason(ArmName.MATCHED_REMOVED, facts) is Reason.TOO_FEW_NONLESION


@pytest.mark.parametrize(("lesion", "others", "fits"), [(2, 2, False), (2, 3, True), (1, 1, False), (1, 2, True)])
def test_matched_removal_leaves_at_least_one_non_lesion_slice(lesion: int, others: int, fits: bool) -> None:
    facts = facts_of([True] * lesion + [False] * others)
    if fits:
        assert len(show(ArmName.MATCHED_REMOVED, facts)) == 1
    else:
        assert reason(ArmName.MATCHED_REMOVED, facts) is Reason.TOO_FEW_NONLESION


def test_one_slice_cannot_be_reversed_but_can_be_repeated() -> None:
    facts = facts_of([False])
    assert reason(ArmName.REVERSE, facts) is Reason.NO_CHANGE
    assert reason(ArmName.SHUFFLE, facts) is Reason.NO_CHANGE
    assert len(show(ArmName.REPEAT, facts)) == 1


def test_one_label_has_no_other_order() -> None:
    assert reason(ArmName.LABEL_SWAP, facts_of([False], options=("GBM", "UNSURE"))) is Reason.NO_CHANGE
    assert reason(ArmName.LABEL_CYCLE, facts_of([False], options=("GBM",))) is Reason.NO_CHANGE


def test_unsure_cannot_stand_first_where_it_is_not_offered() -> None:
    assert reason(ArmName.ABSTAIN_FIRST, facts_of([False], options=("GBM", "MET"))) is Reason.NO_CHANGE


@given(cases())
def test_details_carry_counts_and_no_ids(facts: SliceFacts) -> None:
    for name in ArmName:
        try:
            show(name, facts)
        except CaseProblem as problem:
            assert "item" not in problem.detail
            assert problem.detail


def test_facts_that_contradict_themselves_are_refused() -> None:
    for sampled, flags, total in [((), None, None), ((2, 1), None, None), ((1,), (True,), None), ((1,), (True,), 0)]:
        with pytest.raises(ValueError, match="slices"):
            SliceFacts(sampled, flags, total, TWO, (1, "item"))
    with pytest.raises(ValueError, match="boxes of 1 slices for 2"):
        SliceFacts((1, 2), None, None, TWO, (1, "item"), boxes=((),))


def test_over_many_seeds_every_free_place_is_taken_about_equally_often() -> None:
    """One lesion slice in nine others: each of them is removed in about a ninth of the items."""
    flags = [False] * 5 + [True] + [False] * 4
    items = 1800
    taken = Counter(show(ArmName.MATCHED_REMOVED, facts_of(flags, seed=seed))[0].removed[0] for seed in range(items))
    assert len(taken) == 9
    # Binomial(1800, 1/9): mean 200, standard deviation 13.3; five of them either way.
    assert all(133 < count < 267 for count in taken.values())
