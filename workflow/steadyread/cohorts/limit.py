"""A smaller cohort for a smoke run: whole patients, balanced over labels."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from ..identity.seeds import seed_of


def balanced_patients(
    labels_of: Mapping[str, frozenset[str]], labels: Sequence[str], count: int, seed: int
) -> frozenset[str]:
    """Choose patients, label by label, in an order drawn from the seed and the patient ids alone.

    The patient is taken next whose label has the fewest patients so far (canonical order where they
    tie). A patient with several labels counts for each of them. Patients without a label come last.
    The choice for a smaller count is a subset of that for a larger one.

    Parameters
    ----------
    labels_of
        Known labels of each patient; empty where none is known.
    labels
        The study's labels in canonical order.
    count
        How many patients; all of them where there are fewer.
    seed
        The study's seed.
    """
    ranked = sorted(labels_of, key=lambda patient: (seed_of("limit", seed, patient), patient))
    queues = {label: deque(patient for patient in ranked if label in labels_of[patient]) for label in labels}
    taken = dict.fromkeys(labels, 0)
    chosen: dict[str, None] = {}
    while len(chosen) < count:
        for queue in queues.values():
            while queue and queue[0] in chosen:
                queue.popleft()
        offered = [label for label in labels if queues[label]]
        if not offered:
            break
        patient = queues[min(offered, key=taken.__getitem__)].popleft()
        chosen[patient] = None
        for label in labels_of[patient]:
            taken[label] += 1
    unlabelled = [patient for patient in ranked if patient not in chosen]
    return frozenset([*chosen, *unlabelled[: max(0, count - len(chosen))]])
