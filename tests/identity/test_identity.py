"""The identity of values, pixels, code and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyread.identity import code
from steadyread.identity.digests import canonical_json, digest_bytes, digest_json
from steadyread.identity.pixels import image_digest
from steadyread.identity.seeds import choose, permutation, uniform

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), PLAIN, max_size=5))
def test_the_order_of_keys_does_not_count(value):
    assert digest_json(value) == digest_json(dict(reversed(list(value.items()))))


def test_nan_equals_nan_and_minus_zero_equals_zero():
    assert digest_json([math.nan, -0.0]) == digest_json([float("nan"), 0.0])


def test_infinities_differ_from_each_other_and_from_nan():
    assert len({digest_json(value) for value in (math.inf, -math.inf, math.nan)}) == 3


def test_true_is_not_one_and_text_is_not_a_number():
    assert len({canonical_json(value) for value in (True, 1, "1")}) == 3


def test_where_one_part_ends_counts():
    assert digest_bytes(b"ab", b"c") != digest_bytes(b"a", b"bc")


def test_an_object_without_canonical_form_is_refused():
    with pytest.raises(TypeError, match="set"):
        digest_json({1, 2})


def test_an_image_is_its_pixels_shape_and_mode():
    pixels = np.arange(12, dtype=np.uint8)
    same = image_digest(pixels.reshape(3, 4), "L")
    assert same == image_digest(np.asfortranarray(pixels.reshape(3, 4)), "L")
    assert same != image_digest(pixels.reshape(4, 3), "L")
    assert same != image_digest(pixels.reshape(3, 4), "P")
    changed = pixels.copy()
    changed[5] += 1
    assert same != image_digest(changed.reshape(3, 4), "L")


@given(st.integers(0, 40), st.text())
def test_a_permutation_is_a_permutation_and_a_function_of_its_names(count, name):
    drawn = permutation(count, "study", name)
    assert sorted(drawn) == list(range(count))
    assert drawn == permutation(count, "study", name)


def test_permutations_are_uniform():
    counts: dict[tuple[int, ...], int] = {}
    for index in range(6000):
        key = tuple(permutation(3, "uniform", index))
        counts[key] = counts.get(key, 0) + 1
    chi2 = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert len(counts) == 6
    assert chi2 < 20.5  # 99.9 % point of chi-squared with 5 degrees of freedom


def test_uniform_draws_fill_the_unit_interval():
    draws = [uniform("u", index) for index in range(4000)]
    assert min(draws) >= 0 and max(draws) < 1
    assert abs(np.mean(draws) - 0.5) < 0.03


def test_choosing_keeps_the_population_order_and_refuses_too_many():
    assert choose("abcdef", 6, 1) == list("abcdef")
    assert sorted(choose("abcdef", 3, 1)) == choose("abcdef", 3, 1)
    with pytest.raises(ValueError, match="cannot choose 7 of 6"):
        choose("abcdef", 7, 1)


SOURCE = '''
"""Docstring."""
import math

def area(r):
    """Area of a disc."""
    # why
    return math.pi * r**2
'''


def test_comments_layout_and_docstrings_do_not_count():
    reformatted = "import math\ndef area(\n    r,\n):\n    return (math.pi\n        * r ** 2)\n"
    assert code.normalised_source(SOURCE) == code.normalised_source(reformatted)


def test_a_changed_expression_counts():
    assert code.normalised_source(SOURCE) != code.normalised_source(SOURCE.replace("**2", "**3"))


def test_a_string_that_is_a_value_counts():
    one, two = 'NAME = "a"\n', 'NAME = "b"\n'
    assert code.normalised_source(one) != code.normalised_source(two)


def test_the_closure_holds_what_is_imported_and_nothing_else():
    closure = code.module_closure("steadyread.contracts.files")
    assert "steadyread.identity.digests" in closure
    assert "steadyread.contracts.tables" in closure
    assert not [name for name in closure if name.startswith(("steadyread.slicing", "steadyread.config"))]


def test_a_module_that_is_not_ours_is_refused():
    with pytest.raises(ModuleNotFoundError):
        code.module_closure("steadyread.nothing")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package in steadyread's place: a imports b inside a function, c stands alone."""
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "a.py").write_text("def run():\n    from .b import helper\n    return helper()\n")
    (tmp_path / "b.py").write_text("def helper():\n    return 1\n")
    (tmp_path / "c.py").write_text("X = 1\n")
    monkeypatch.setattr(code, "PACKAGE_ROOT", tmp_path)

    def digest() -> str:
        code.imported_modules.cache_clear()
        code.closure_digest.cache_clear()
        return code.closure_digest("steadyread.a")

    yield tmp_path, digest
    code.imported_modules.cache_clear()
    code.closure_digest.cache_clear()


def test_an_edit_in_an_imported_module_changes_the_digest(package):
    folder, digest = package
    before = digest()
    (folder / "b.py").write_text("def helper():\n    return 2\n")
    assert digest() != before


def test_an_edit_elsewhere_or_of_a_comment_changes_nothing(package):
    folder, digest = package
    before = digest()
    (folder / "c.py").write_text("X = 2\n")
    (folder / "b.py").write_text("def helper():\n    # one\n    return 1\n")
    assert digest() == before
