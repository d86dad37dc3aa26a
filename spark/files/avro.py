"""Reads Avro files."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from fastavro.schema import expand_schema

from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    read_of,
)
from datahub_hyperjoin.spark.errors import NotAvroError
from datahub_hyperjoin.spark.files.nested import parsing
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

_CELLS = 1 << 17
_FAULTS = (ValueError, EOFError, KeyError, IndexError)
"""What fastavro raises on bytes that are not as their schema says."""


def read_avro(path: Path, paths: Collection[str] | None) -> TableStream:
    """Opens an Avro file.

    Args:
        path: Where it is.
        paths: The columns to read; without it, all.

    Returns:
        The reading; fields of records are columns, as in `address.city`.

    Raises:
        UnreadableTableError: The file is not Avro.
    """
    if not fastavro.is_avro(str(path)):
        raise NotAvroError.at_the_beginning()
    with path.open("rb") as source, parsing(*_FAULTS):
        schema = expand_schema(fastavro.reader(source).writer_schema or "null")
    leaves = [Column(leaf, at, opaque) for at, (leaf, opaque) in enumerate(_leaves(schema))]
    columns, notes = choose_columns(leaves, paths)
    extent = RowEstimate()
    return TableStream(columns, _batches(path, read_of(columns), extent), notes, extent)


def _leaves(schema: Any, above: str = "") -> Iterator[tuple[str, DataType | None]]:  # noqa: ANN401
    """The columns of a record, those of records in it included."""
    for field in schema["fields"] if _kind(schema) == "record" else ():
        path, type_ = f"{above}{field['name']}", _filled(field["type"])
        match _kind(type_):
            case "record":
                yield from _leaves(type_, f"{path}.")
            case "array" | "map":
                yield path, DataType.NESTED
            case "bytes" | "fixed" if "logicalType" not in type_:
                yield path, DataType.BINARY
            case _:
                yield path, None


def _kind(type_: Any) -> str:  # noqa: ANN401
    return type_["type"] if isinstance(type_, Mapping) else str(type_)


def _filled(type_: Any) -> Any:  # noqa: ANN401
    """The type of values that are there: Avro writes a value that may lack as a union with null."""
    if not isinstance(type_, list):
        return type_
    others = [one for one in type_ if one != "null"]
    return others[0] if len(others) == 1 else "string"


def _batches(
    path: Path, paths: Sequence[str], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    rows, read, size = max(1, _CELLS // max(1, len(paths))), 0, path.stat().st_size
    with path.open("rb") as source, parsing(*_FAULTS):
        records = fastavro.reader(source)
        while part := list(islice(records, rows)):
            read += len(part)
            extent.rows = read * size / source.tell()
            columns = [[_value(record, name.split(".")) for record in part] for name in paths]
            yield batch_of(paths, columns, rows=len(part))


def _value(record: Any, names: Sequence[str]) -> object:  # noqa: ANN401
    for name in names:
        if record is None:
            return None
        record = record[name]
    return record
