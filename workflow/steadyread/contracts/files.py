"""Reading and writing tables: Parquet, checked on both sides, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..identity.digests import canonical, canonical_json, digest_bytes
from .publishing import publish
from .table import ContractError, Table, drop_repeated_keys
from .tables import ALL_TABLES

_META = b"steadyread.table"


def write_table(path: Path | str, contract: Table, data: pa.Table | Iterable[Mapping[str, Any]]) -> pa.Table:
    """Check a table (or rows) against its contract and write it as Parquet, sorted by key.

    The file appears under its name only once it is complete and on disk (temporary name, fsync,
    rename).

    Raises
    ------
    ContractError
        If the data does not keep the contract; nothing is written then.
    """
    table = contract.check(data) if isinstance(data, pa.Table) else contract.from_rows(data)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    try:
        pq.write_table(table.replace_schema_metadata({_META: contract.name.encode()}), temporary, compression="zstd")
        publish(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return table


def read_table(
    paths: Path | str | Sequence[Path | str], contract: Table, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read one file or several shards of a table, checked against the contract, sorted by key.

    With `columns` only those are read, and the schema of each file is still checked.
    """
    several = [paths] if isinstance(paths, (str, Path)) else list(paths)
    parts = []
    for path in several:
        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise ContractError(f"table {contract.name}: cannot read {Path(path).name}: {error}") from error
        with file:
            if not file.schema_arrow.remove_metadata().equals(contract.schema):
                contract.check(file.read().replace_schema_metadata(None))
            parts.append(file.read(columns=list(columns) if columns else None).replace_schema_metadata(None))
    if contract.content_addressed and len(parts) > 1:
        return _joined(parts, contract, columns)
    schema = contract.schema if columns is None else pa.schema([contract.schema.field(name) for name in columns])
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    if columns is not None:
        return table.select(list(columns)).combine_chunks()
    return contract.check(table)


def _joined(parts: list[pa.Table], contract: Table, columns: Sequence[str] | None) -> pa.Table:
    """Shards of a content-addressed table: the same row in several shards counts once."""
    table = pa.concat_tables(parts)
    if set(contract.key) <= set(table.column_names):
        table = drop_repeated_keys(table, contract.key)
    return contract.check(table) if columns is None else table.combine_chunks()


def read_rows(paths: Path | str | Sequence[Path | str], contract: Table) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries; maps become dictionaries too."""
    maps = [item.name for item in contract.schema if pa.types.is_map(item.type)]
    rows: list[dict[str, Any]] = read_table(paths, contract).to_pylist()
    for row in rows:
        for name in maps:
            if row[name] is not None:
                row[name] = dict(row[name])
    return rows


def logical_digest(table: pa.Table, contract: Table) -> str:
    """Digest what a table says: rows sorted by key, NaN equal to NaN, local columns left out.

    Chunking, compression, row-group size and the Parquet version do not count.
    """
    names = [n for n in contract.schema.names if n not in contract.local and n not in contract.undigested]
    ordered = contract.check(table).select(names)
    # The types are the contract's: Parquet gives maps back under another spelling.
    types = canonical_json([[name, str(contract.schema.field(name).type)] for name in names])
    rows = (canonical_json(_plain(row)) for row in ordered.to_pylist())
    return digest_bytes(contract.name.encode(), types, *rows)


def _plain(row: Mapping[str, Any]) -> Any:
    return canonical(
        {k: sorted(v) if isinstance(v, list) and v and isinstance(v[0], tuple) else v for k, v in row.items()}
    )


def contract_of(path: Path | str) -> Table | None:
    """The contract a Parquet file was written under, or None for any other file."""
    if Path(path).suffix != ".parquet":
        return None
    name = (pq.read_schema(path).metadata or {}).get(_META, b"").decode()
    return ALL_TABLES.get(name)
