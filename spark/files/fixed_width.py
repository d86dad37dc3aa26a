"""Read text files whose columns have fixed widths.

A schema beside each file names the columns and their places. It is CSV, as csvkit's `in2csv` reads
it:

    column,start,length
    station,1,11
    name,13,30
"""

import csv
import io
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice

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
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.files.encoding import TextStream
from datahub_hyperjoin.spark.files.errors import WidthSchemaError
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.stored import (
    COMPRESSIONS,
    DataPath,
    DecompressedFile,
    open_in_order,
    path_of,
)
from datahub_hyperjoin.spark.objects import batch_of

_BATCH_CELLS = 1 << 17


class FixedWidth(FileFormat):
    """Text with columns of fixed widths, whose values have no spaces around them."""

    name = "fwf"
    title = "text with columns of fixed widths"
    suffixes = (".fwf",)
    may_be_compressed = True
    schema_suffix = ".schema"

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        path = path_of(file)
        places = _read_schema(path)
        columns, notes = choose_columns([Column(name, at) for at, name in enumerate(places)], paths)
        with ExitStack() as opened:
            raw = opened.enter_context(DecompressedFile(path))
            # Nothing is quoted.
            stream = TextStream(raw, replace(file.dialect, quote="", escape=""), notes)
            # From here on, the returned stream closes the file.
            opened.pop_all()
        slices = [places[name] for name in readable_paths(columns)]
        extent = RowEstimate()
        return TableStream(columns, _batches(stream, columns, slices, extent), notes, extent)


def _batches(
    stream: TextStream, columns: Sequence[Column], slices: Sequence[slice], extent: RowEstimate
) -> Batches:
    names = readable_paths(columns)
    size = max(1, _BATCH_CELLS // max(1, len(names)))
    rows = characters = 0
    with io.TextIOWrapper(io.BufferedReader(stream), "utf-8", newline=None) as lines:
        filled = (line for line in lines if line.strip())
        while chunk := [*islice(filled, size)]:
            rows += len(chunk)
            characters += sum(map(len, chunk))
            extent.rows = rows * max(1.0, stream.size() / characters)
            values: list[list[object]] = [
                [line[place].strip() or None for line in chunk] for place in slices
            ]
            yield batch_of(names, values, rows=len(chunk))
    if not rows:
        raise EmptyTableError.without_content()


def _read_schema(path: DataPath) -> dict[str, slice]:
    """Read the schema file, which gives the position of each column in a line."""
    plain = path.with_name(path.stem) if path.suffix.lower() in COMPRESSIONS else path
    schema = plain.with_name(plain.name + FixedWidth.schema_suffix)
    try:
        with open_in_order(schema) as file:
            text = file.read().decode("utf-8-sig")
        rows = csv.DictReader(io.StringIO(text, newline=None))
        places = [(row["column"].strip(), int(row["start"]), int(row["length"])) for row in rows]
    except FileNotFoundError:
        raise WidthSchemaError.missing(schema.name) from None
    except (csv.Error, KeyError, TypeError, ValueError, AttributeError):
        raise WidthSchemaError.malformed(schema.name) from None
    # As in csvkit, positions count from 1 if the first one is 1, and else from 0.
    first = 1 if places and places[0][1] == 1 else 0
    is_valid = all(name and start >= first and length > 0 for name, start, length in places)
    if not places or not is_valid or len({name for name, _, _ in places}) < len(places):
        raise WidthSchemaError.malformed(schema.name)
    return {name: slice(start - first, start - first + length) for name, start, length in places}
