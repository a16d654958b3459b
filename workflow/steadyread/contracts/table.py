"""A table contract: an Arrow schema, a key, and rules about values. One for writer and reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Rule = Callable[[pa.Table], "str | None"]


class ContractError(ValueError):
    """A table that does not keep its contract: says which table, column, what was found."""


def required(name: str, type_: pa.DataType) -> pa.Field:
    """A column that holds no null."""
    return pa.field(name, type_, nullable=False)


def optional(name: str, type_: pa.DataType) -> pa.Field:
    """A column that may hold null."""
    return pa.field(name, type_, nullable=True)


def list_of(type_: pa.DataType, name: str = "item") -> pa.DataType:
    """A list whose elements are never null."""
    return pa.list_(pa.field(name, type_, nullable=False))


STRING, INT, FLOAT, BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
BOX = pa.list_(pa.field("item", pa.float64(), nullable=False), 4)
"""[x0, y0, x1, y1), pixels of the stored 8-bit image, origin top left."""


@dataclass(frozen=True)
class Table:
    """The contract of one table.

    Attributes
    ----------
    name
        The table's name, also of its files.
    schema
        Arrow schema; nullability holds at every depth.
    key
        Columns that identify a row; rows are stored sorted by them.
    rules
        Functions that return what is wrong with a table, or None.
    local
        Columns that belong to this machine alone (paths): written, never digested or exported.
    undigested
        Columns left out of the logical digest because another column identifies them (PNG bytes).
    content_addressed
        The key says all there is: shards may hold the same row, and it counts once.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    local: frozenset[str] = frozenset()
    undigested: frozenset[str] = field(default_factory=frozenset)
    content_addressed: bool = False

    def fail(self, problem: str) -> ContractError:
        """The error that names this table."""
        return ContractError(f"table {self.name}: {problem}")

    def empty(self) -> pa.Table:
        """A table of this contract without rows."""
        return self.schema.empty_table()

    def from_rows(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Build a table from dictionaries, strictly: no missing, no unknown key at any depth."""
        materialised = list(rows)
        for number, row in enumerate(materialised):
            problem = _misfit(row, self.schema, "")
            if problem:
                raise self.fail(f"row {number}: {problem}")
        try:
            table = pa.Table.from_pylist([dict(row) for row in materialised], schema=self.schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError) as error:
            raise self.fail(f"a value does not fit its column: {error}") from error
        return self.check(table)

    def check(self, table: pa.Table) -> pa.Table:
        """Return the table sorted by key, or raise ContractError saying what is wrong."""
        if not table.schema.equals(self.schema):
            raise self.fail("schema differs: " + "; ".join(_schema_differences(table.schema, self.schema)))
        try:
            table.validate(full=True)
        except pa.ArrowInvalid as error:
            raise self.fail(f"broken Arrow data: {error}") from error
        for name in self.schema.names:
            for chunk in table[name].chunks:
                problem = _null_problem(chunk, self.schema.field(name), name)
                if problem:
                    raise self.fail(problem)
        table = sort_rows(table, self.key)
        duplicate = _first_duplicate(table, self.key)
        if duplicate is not None:
            raise self.fail(f"key ({', '.join(self.key)}) stands twice: {duplicate}")
        for rule in self.rules:
            problem = rule(table)
            if problem:
                raise self.fail(problem)
        return table


def sort_rows(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """Sort by key columns, nulls first, in one chunk."""
    table = table.combine_chunks()
    if table.num_rows < 2 or not key:
        return table
    order = pc.sort_indices(table, sort_keys=[(name, "ascending", "at_start") for name in key])
    return table.take(order).combine_chunks()


def drop_repeated_keys(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """Keep the first row of each key."""
    seen: set[tuple[Any, ...]] = set()
    keep = []
    for row in zip(*[table[name].to_pylist() for name in key], strict=True):
        keep.append(row not in seen)
        seen.add(row)
    return table if all(keep) else table.filter(pa.array(keep, pa.bool_()))


def _first_duplicate(table: pa.Table, key: Sequence[str]) -> Any:
    previous = None
    columns = [table[name].to_pylist() for name in key]
    for row in zip(*columns, strict=True):
        if row == previous:
            return row
        previous = row
    return None


def _schema_differences(found: pa.Schema, expected: pa.Schema) -> list[str]:
    problems = [f"column {name} is missing" for name in expected.names if name not in found.names]
    problems += [f"column {name} is unknown" for name in found.names if name not in expected.names]
    for name in expected.names:
        if name in found.names and not found.field(name).equals(expected.field(name)):
            want, have = expected.field(name), found.field(name)
            problems.append(
                f"column {name} is {have.type} (null allowed: {have.nullable}), "
                f"expected {want.type} (null allowed: {want.nullable})"
            )
    return problems or [f"columns stand in another order: {found.names}, expected {expected.names}"]


def _null_problem(array: pa.Array, spec: pa.Field, path: str) -> str | None:
    if not spec.nullable and array.null_count:
        return f"column {path} holds {array.null_count} null value(s), none allowed"
    type_ = spec.type
    valid = array.drop_null() if array.null_count else array
    if pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_):
        return _null_problem(valid.flatten(), type_.value_field, f"{path}[]")
    if pa.types.is_map(type_):
        problem = _null_problem(valid.keys, type_.key_field, f"{path}{{}}")
        return problem or _null_problem(valid.items, type_.item_field, f"{path}{{}}")
    if pa.types.is_struct(type_):
        for index in range(type_.num_fields):
            child = type_.field(index)
            problem = _null_problem(pc.struct_field(valid, [index]), child, f"{path}.{child.name}")
            if problem:
                return problem
    return None


def _misfit(value: Any, spec: pa.Schema | pa.DataType, path: str) -> str | None:
    """What is wrong with a value's keys against a schema or a nested type, or None."""
    if isinstance(spec, pa.Schema) or pa.types.is_struct(spec):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            return f"{path or 'row'} is {type(value).__name__}, expected a mapping"
        fields = list(spec)
        names = {item.name for item in fields}
        unknown, missing = sorted(set(value) - names), sorted(names - set(value))
        if unknown or missing:
            return f"{path or 'row'} has unknown keys {unknown}, lacks {missing}"
        for item in fields:
            problem = _misfit(value[item.name], item.type, f"{path}.{item.name}" if path else item.name)
            if problem:
                return problem
        return None
    if value is not None and (pa.types.is_list(spec) or pa.types.is_fixed_size_list(spec)):
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            return f"{path} is {type(value).__name__}, expected a list"
        if pa.types.is_struct(spec.value_type) or pa.types.is_list(spec.value_type):
            for element in value:
                problem = _misfit(element, spec.value_type, f"{path}[]")
                if problem:
                    return problem
        return None
    if isinstance(value, bool) and not pa.types.is_boolean(spec):
        return f"{path} is a bool, expected {spec}"
    return None


# --- rules -------------------------------------------------------------------------------------


def one_of(column: str, allowed: type[StrEnum] | Sequence[str]) -> Rule:
    """The column's values (or its lists' elements) come from a closed list."""
    values = [str(getattr(item, "value", item)) for item in allowed]

    def rule(table: pa.Table) -> str | None:
        array = pc.unique(_leaves(table[column]))
        wrong = [item for item in array.to_pylist() if item is not None and item not in values]
        return f"column {column} holds {wrong[:5]}, allowed: {values}" if wrong else None

    return rule


def matches(column: str, pattern: str, meaning: str) -> Rule:
    """The column's strings match a regular expression."""

    def rule(table: pa.Table) -> str | None:
        array = _leaves(table[column]).drop_null()
        fits = pc.match_substring_regex(array, f"^(?:{pattern})$")
        wrong = array.filter(pc.invert(fits))
        return f"column {column} holds {wrong[0].as_py()!r}, expected {meaning}" if len(wrong) else None

    return rule


def within(column: str, low: float | None = None, high: float | None = None) -> Rule:
    """The column's numbers lie within [low, high]; NaN never does."""

    def rule(table: pa.Table) -> str | None:
        array = _leaves(table[column]).drop_null()
        for value in array.to_pylist():
            inside = (low is None or value >= low) and (high is None or value <= high)
            if not inside:
                return f"column {column} holds {value}, expected within [{low}, {high}]"
        return None

    return rule


def same_length(*columns: str) -> Rule:
    """List columns of one row have the same length; null lists are skipped."""

    def rule(table: pa.Table) -> str | None:
        lengths = [pc.list_value_length(table[name]).to_pylist() for name in columns]
        for number, row in enumerate(zip(*lengths, strict=True)):
            known = {length for length in row if length is not None}
            if len(known) > 1:
                return f"row {number}: lists {columns} have lengths {row}"
        return None

    return rule


def null_iff(column: str, other: str, value: Any) -> Rule:
    """`column` is null exactly where `other` equals `value` (None: where it is null)."""

    def rule(table: pa.Table) -> str | None:
        pairs = zip(table[column].to_pylist(), table[other].to_pylist(), strict=True)
        for number, (left, right) in enumerate(pairs):
            if (left is None) != (right == value):
                return f"row {number}: {column} is {left!r} where {other} is {right!r}"
        return None

    return rule


def holds(meaning: str, predicate: Callable[[Mapping[str, Any]], bool], columns: Sequence[str]) -> Rule:
    """Every row satisfies a predicate over some columns."""

    def rule(table: pa.Table) -> str | None:
        for number, row in enumerate(table.select(list(columns)).to_pylist()):
            if not predicate(row):
                return f"row {number}: expected {meaning}, found {row}"
        return None

    return rule


def _leaves(column: pa.ChunkedArray) -> pa.ChunkedArray:
    while pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        column = pc.list_flatten(column)
    return column
