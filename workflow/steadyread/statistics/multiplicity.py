"""Many tests at once: Holm within a family, Benjamini–Hochberg over the grid (PROTOCOLS 0.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p of one family; a family of one keeps its p.

    Written out because statsmodels' own collects garbage at each call, a tenth of a second for every
    model and family; it is the test's oracle.
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in adjusted]


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's q."""
    return [float(value) for value in false_discovery_control(list(p))] if p else []


def adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Fill `p_holm` and `q_bh` of estimates rows in place.

    A family is what rows of one model and readout share under one name. The grid of q is every raw
    p of the study: q alone depends on which models were asked.
    """
    families: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["p"] is not None and row["family"] is not None:
            families.setdefault((row["model"], row["readout"], row["stratum"], row["family"]), []).append(row)
    for members in families.values():
        for row, value in zip(members, holm([row["p"] for row in members]), strict=True):
            row["p_holm"] = value
    tested = [row for row in rows if row["p"] is not None]
    for row, value in zip(tested, benjamini_hochberg([row["p"] for row in tested]), strict=True):
        row["q_bh"] = value
