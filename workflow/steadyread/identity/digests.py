"""Digests of plain values and files.

A digest is the first 32 hexadecimal digits (128 bits) of a SHA-256, everywhere in steadyread.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

DIGEST_LENGTH = 32
_CHUNK = 1 << 20


def digest_bytes(*parts: bytes) -> str:
    """Digest byte strings; each is preceded by its length, so that ("ab", "c") != ("a", "bc")."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.hexdigest()[:DIGEST_LENGTH]


def digest_file(path: Path | str) -> str:
    """Digest the raw bytes of a file."""
    state = hashlib.sha256()
    with open(path, "rb") as handle:
        while chunk := handle.read(_CHUNK):
            state.update(chunk)
    return state.hexdigest()[:DIGEST_LENGTH]


def canonical(value: Any) -> Any:
    """Reduce a value to what JSON can hold in exactly one way.

    NaN equals NaN, -0.0 equals 0.0, tuples equal lists, enum members equal their values.

    Raises
    ------
    TypeError
        For a type that has no canonical form (a set, an object).
    """
    if isinstance(value, Enum):
        return canonical(value.value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return {"float": "nan"}
        if math.isinf(value):
            return {"float": "inf" if value > 0 else "-inf"}
        return value + 0.0
    if isinstance(value, bytes):
        return {"bytes": hashlib.sha256(value).hexdigest()}
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    raise TypeError(f"no canonical form for {type(value).__name__}: pass plain values")


def restored(value: Any) -> Any:
    """Undo what `canonical` does to floats that JSON lacks: {"float": "nan"} is NaN again."""
    if isinstance(value, Mapping):
        if set(value) == {"float"} and isinstance(value["float"], str):
            return float(value["float"])
        return {key: restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [restored(item) for item in value]
    return value


def canonical_json(value: Any) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8."""
    return json.dumps(
        canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest_json(value: Any) -> str:
    """Digest a plain value through its canonical JSON."""
    return digest_bytes(canonical_json(value))
