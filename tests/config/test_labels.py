"""Labels that an answer could not tell apart are named before any model is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyread.config.labels import folded, label_collisions

SYNONYMS = {
    "GBM": ("glioblastoma", "glioblastoma multiforme"),
    "MET": ("metastasis", "brain metastases"),
    "UNSURE": ("uncertain", "not sure"),
}


@pytest.mark.parametrize(
    "labels",
    [("GBM", "MET"), ("grade 2", "grade 3", "grade 4"), ("Yes", "No"), ("glioblastoma", "abscess"), (), ("1", "2")],
)
def test_labels_that_can_be_told_apart_are_fine(labels: tuple[str, ...]) -> None:
    assert label_collisions(labels, SYNONYMS) == []


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (("GBM", "Glioblastoma "), ["'Glioblastoma '", "'GBM'"]),
        (("GBM", "MET", "brain-metastases"), ["'brain-metastases'", "'MET'"]),
        (("GBM", "Not Sure"), ["'Not Sure'", "'UNSURE'"]),
        (("GBM", "unsure"), ["'unsure'", "abstain"]),
        (("GBM", "gbm"), ["'GBM'", "'gbm'"]),
        (("GBM", "B"), ["'B'", "single letter"]),
        (("GBM", " x "), ["' x '", "single letter"]),
        (("GBM", "Ｂ"), ["single letter"]),
        (("GBM", ""), ["''", "empty"]),
        (("GBM", "  "), ["'  '", "empty"]),
        (("GBM", "no\nlesion"), ["line break"]),
        (("GBM", "no\tlesion"), ["tab"]),
        (("GBM", "no\u2028lesion"), ["line break"]),
    ],
)
def test_what_is_wrong_is_said_once_and_names_the_label(labels: tuple[str, ...], named: list[str]) -> None:
    (problem,) = label_collisions(labels, SYNONYMS)
    assert all(word in problem for word in named)


def test_a_label_may_be_listed_among_its_own_synonyms() -> None:
    assert label_collisions(("GBM", "MET"), {"GBM": ("gbm", "glioblastoma")}) == []


def test_one_letter_is_kept_for_unsure_where_it_is_offered() -> None:
    labels = [f"label {k}" for k in range(26)]
    assert label_collisions(labels[:25], {}) == []
    assert label_collisions(labels, {}, unsure=False) == []
    (problem,) = label_collisions(labels, {})
    assert "26 labels" in problem and "25" in problem


@given(st.lists(st.text(max_size=6), max_size=6), st.randoms())
def test_the_order_of_the_labels_does_not_decide_whether_they_collide(labels: list[str], random) -> None:
    shuffled = random.sample(labels, len(labels))
    assert len(label_collisions(labels, SYNONYMS)) == len(label_collisions(shuffled, SYNONYMS))


@pytest.mark.parametrize("name", ["brain-metastases", " Brain  Metastases\n", "ＢＲＡＩＮ metastases"])
def test_case_width_and_kind_of_gap_do_not_make_another_name(name: str) -> None:
    assert folded(name) == "brain metastases"
