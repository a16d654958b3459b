"""Runs of removed slices match the lesion's runs wherever that is possible."""

from __future__ import annotations

from itertools import chain, combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from steadyread.arms.matching import match_runs, runs_of


def lengths(flags: list[bool]) -> list[int]:
    return sorted(stop - start for start, stop in runs_of(flags))


def possible(flags: list[bool]) -> bool:
    """By trying every choice: whether non-lesion slices with runs of the same lengths exist."""
    free = [i for i, lesion in enumerate(flags) if not lesion]
    return any(
        lengths([i in chosen for i in range(len(flags))]) == lengths(flags)
        for chosen in map(set, combinations(free, sum(flags)))
    )


def fewest_pieces(flags: list[bool]) -> int:
    """By trying every way of cutting: the fewest pieces of lesion runs that fit the free runs."""
    gaps = lengths([not flag for flag in flags])
    cuttings = product(*[list(compositions(length)) for length in lengths(flags)])
    return min(len(pieces) for pieces in map(list, map(chain.from_iterable, cuttings)) if packs(pieces, gaps))


def compositions(length: int) -> list[tuple[int, ...]]:
    if length == 0:
        return [()]
    return [(first, *rest) for first in range(1, length + 1) for rest in compositions(length - first)]


def packs(pieces: list[int], gaps: list[int]) -> bool:
    if not pieces:
        return True
    head, rest = pieces[0], pieces[1:]
    return any(packs(rest, [*gaps[:i], gap - head, *gaps[i + 1 :]]) for i, gap in enumerate(gaps) if gap >= head)


small = st.lists(st.booleans(), min_size=2, max_size=11).filter(lambda f: 0 < sum(f) <= len(f) - sum(f) - 1)
large = st.lists(st.booleans(), min_size=2, max_size=40).filter(lambda f: 0 < sum(f) <= len(f) - sum(f))


@given(small, st.integers(0, 9))
def test_runs_are_matched_exactly_where_some_choice_matches_them(flags: list[bool], seed: int) -> None:
    _, matched = match_runs(flags, (seed,))
    assert matched == possible(flags)


@given(large, st.integers(0, 9))
def test_matched_says_the_truth_about_the_chosen_runs(flags: list[bool], seed: int) -> None:
    positions, matched = match_runs(flags, (seed,))
    chosen = [i in set(positions) for i in range(len(flags))]
    assert positions == sorted(set(positions))
    assert len(positions) == sum(flags)
    assert not any(flags[i] for i in positions)
    assert matched == (lengths(chosen) == lengths(flags))


@settings(max_examples=60)
@given(small, st.integers(0, 9))
def test_a_run_that_does_not_fit_is_split_as_little_as_possible(flags: list[bool], seed: int) -> None:
    """Runs that touch count as one, so the chosen runs are at most the fewest pieces."""
    positions, _ = match_runs(flags, (seed,))
    assert len(runs_of([i in set(positions) for i in range(len(flags))])) <= fewest_pieces(flags)


def test_a_middle_lesion_longer_than_either_side_is_split_once() -> None:
    flags = [False] * 4 + [True] * 6 + [False] * 5
    for seed in range(20):
        positions, matched = match_runs(flags, (seed,))
        chosen = [i in set(positions) for i in range(len(flags))]
        assert not matched
        # The longer side goes whole, one more from the other.
        assert lengths(chosen) == [1, 5]


def test_a_run_goes_where_it_fits_tightly_and_to_an_end_so_that_the_rest_stays_whole() -> None:
    """Runs of 4, 3, 3 in free runs of 1, 5, 1, 4: the 4 fills the 4, a 3 and two more fill the 5."""
    flags = [mark == "R" for mark in ".RRR.....RRR.RRRR...."]
    for seed in range(20):
        positions, matched = match_runs(flags, (seed,))
        assert not matched
        assert set(positions) > {4, 5, 6, 7, 8, 17, 18, 19, 20}
        assert len(set(positions) & {0, 12}) == 1


def test_two_runs_that_only_fit_touching_are_said_to_be_unmatched() -> None:
    flags = [True, True, False, True, True, False, False, False, False]
    positions, matched = match_runs(flags, (3,))
    assert (positions, matched) == ([5, 6, 7, 8], False)


def test_the_choice_looks_ahead_so_that_later_runs_still_fit() -> None:
    """Runs of 3 and 2 in one free run of 6 lie at its two ends in every draw, never in the middle."""
    flags = [True] * 3 + [False] * 6 + [True] * 2
    found = {tuple(match_runs(flags, (seed,))[0]) for seed in range(30)}
    assert found == {(3, 4, 5, 7, 8), (3, 4, 6, 7, 8)}
    assert all(match_runs(flags, (seed,))[1] for seed in range(30))


def test_nothing_to_match_removes_nothing() -> None:
    assert match_runs([False, False], (1,)) == ([], True)
