"""Read Avro files."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import NotAvroError
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.nested import text_of_list, translate_read_errors
from datahub_hyperjoin.spark.files.stored import DataPath, bytes_of, open_in_order, path_of
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

_BATCH_CELLS = 1 << 17
_READ_ERRORS = (ValueError, EOFError, KeyError, IndexError)
"""Errors that fastavro raises on bytes that do not match their schema."""


class Avro(FileFormat):
    """Avro; fields of nested records are columns, as in `address.city`."""

    name = "avro"
    title = "AVRO files"
    suffixes = (".avro",)

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        import fastavro  # noqa: PLC0415 (few lakes have such files)
        from fastavro.schema import expand_schema  # noqa: PLC0415

        path = path_of(file)
        with open_in_order(path) as source:
            if not fastavro.is_avro(source):
                raise NotAvroError.at_the_beginning()
        with open_in_order(path) as source, translate_read_errors(*_READ_ERRORS):
            schema = expand_schema(fastavro.reader(source).writer_schema or "null")
        leaves = [Column(leaf, at, opaque) for at, (leaf, opaque) in enumerate(_leaves(schema))]
        columns, notes = choose_columns(leaves, paths)
        extent = RowEstimate()
        return TableStream(columns, _batches(path, readable_paths(columns), extent), notes, extent)


_ELEMENTS = {"string", "int", "long"}


def _leaves(schema: Any, prefix: str = "") -> Iterator[tuple[str, DataType | None]]:  # noqa: ANN401
    """Yield the path of each column in an Avro schema, and a type for incomparable columns."""
    # The type is None for a column that can be compared. Each nested record is replaced by its
    # fields.
    for field in schema["fields"] if _kind(schema) == "record" else ():
        path, type_ = f"{prefix}{field['name']}", _non_null(field["type"])
        match _kind(type_):
            case "record":
                yield from _leaves(type_, f"{path}.")
            case "array" if _kind(_non_null(type_["items"])) in _ELEMENTS:
                yield path, None
            case "array" | "map":
                yield path, DataType.NESTED
            case _:
                yield path, None


def _kind(type_: Any) -> str:  # noqa: ANN401
    return type_["type"] if isinstance(type_, Mapping) else str(type_)


def _non_null(type_: Any) -> Any:  # noqa: ANN401
    """Remove null from the type of an Avro field."""
    # Avro writes a nullable field as a union with null. Values of any other union are read as text.
    if not isinstance(type_, list):
        return type_
    members = [member for member in type_ if member != "null"]
    return members[0] if len(members) == 1 else "string"


def _batches(path: DataPath, paths: Sequence[str], extent: RowEstimate) -> Batches:
    import fastavro  # noqa: PLC0415 (as above)

    batch_rows = max(1, _BATCH_CELLS // max(1, len(paths)))
    rows_read, size = 0, bytes_of(path)
    with open_in_order(path) as source, translate_read_errors(*_READ_ERRORS):
        records = fastavro.reader(source)
        while batch := list(islice(records, batch_rows)):
            rows_read += len(batch)
            # The share of the bytes read so far is an estimate of the share of the rows.
            extent.rows = rows_read * size / source.tell()
            columns = [[_value(record, name.split(".")) for record in batch] for name in paths]
            yield batch_of(paths, columns, rows=len(batch))


def _value(record: Any, names: Sequence[str]) -> object:  # noqa: ANN401
    for name in names:
        if record is None:
            return None
        record = record[name]
    return text_of_list(record) if isinstance(record, list) else record
