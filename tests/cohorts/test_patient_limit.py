"""`limit`: whole patients, balanced over labels, the same ones whatever the table's order."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from steadyread.cohorts.limit import balanced_patients

LABELS = ("GBM", "MET")
COHORTS = st.dictionaries(
    st.text("abcdefgh0123", min_size=1, max_size=4), st.frozensets(st.sampled_from(LABELS)), max_size=30
)


def cohort(gbm: int, met: int, unknown: int = 0) -> dict[str, frozenset[str]]:
    sizes = {"GBM": gbm, "MET": met, "": unknown}
    return {f"{label}-{n}": frozenset({label} - {""}) for label, size in sizes.items() for n in range(size)}


def counts(chosen: frozenset[str]) -> Counter[str]:
    return Counter(patient.partition("-")[0] for patient in chosen)


@given(COHORTS, st.integers(0, 40), st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_table_does_not_matter(labels_of, count, seed, random) -> None:
    names = list(labels_of)
    random.shuffle(names)
    shuffled = {name: labels_of[name] for name in names}
    chosen = balanced_patients(labels_of, LABELS, count, seed)
    assert chosen == balanced_patients(shuffled, LABELS, count, seed)
    assert len(chosen) == min(count, len(labels_of)) and chosen <= set(labels_of)


@given(COHORTS, st.integers(0, 30), st.integers(0, 5))
def test_a_smaller_cohort_is_part_of_a_larger_one(labels_of, count, seed) -> None:
    smaller, larger = (balanced_patients(labels_of, LABELS, size, seed) for size in (count, count + 3))
    assert smaller <= larger


def test_labels_are_balanced_as_far_as_there_are_patients() -> None:
    assert counts(balanced_patients(cohort(50, 50), LABELS, 10, 1)) == {"GBM": 5, "MET": 5}
    assert counts(balanced_patients(cohort(50, 50), LABELS, 7, 1)) == {"GBM": 4, "MET": 3}
    assert counts(balanced_patients(cohort(50, 2), LABELS, 10, 1)) == {"GBM": 8, "MET": 2}


def test_patients_without_a_label_come_last_and_alone_where_there_are_no_others() -> None:
    assert counts(balanced_patients(cohort(3, 3, 50), LABELS, 8, 1)) == {"GBM": 3, "MET": 3, "": 2}
    assert len(balanced_patients(cohort(0, 0, 50), LABELS, 8, 1)) == 8


def test_a_patient_with_both_labels_counts_for_both() -> None:
    labels_of = {f"both-{n}": frozenset(LABELS) for n in range(4)} | cohort(1, 1)
    for seed in range(20):
        chosen = balanced_patients(labels_of, LABELS, 3, seed)
        tally = Counter(label for patient in chosen for label in labels_of[patient])
        assert abs(tally["GBM"] - tally["MET"]) <= 1


def test_another_seed_draws_other_patients() -> None:
    assert len({balanced_patients(cohort(40, 40), LABELS, 6, seed) for seed in range(10)}) == 10
