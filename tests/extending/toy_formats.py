"""Two toy formats, as another package would add them to HyperJoin."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from datahub_hyperjoin.locations import Dialect, File
from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.files.delimited import DelimitedText
from datahub_hyperjoin.spark.files.formats import DuckDbCall, FileFormat
from datahub_hyperjoin.spark.files.stored import open_in_order, path_of
from datahub_hyperjoin.spark.objects import batch_of


class Records(FileFormat):
    """Records of lines `field: value`, with a blank line between two records."""

    name = "records"
    title = "files of records"
    suffixes = (".rec",)

    def read(self, file: File, paths: Collection[str] | None) -> TableStream:
        with open_in_order(path_of(file)) as source:
            blocks = source.read().decode().strip().split("\n\n")
        rows = [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]
        if not any(rows):
            raise EmptyTableError.without_content()
        fields = dict.fromkeys(field for row in rows for field in row)
        columns, notes = choose_columns([Column(name, at) for at, name in enumerate(fields)], paths)
        names = readable_paths(columns)
        values: list[list[object]] = [[row.get(name) for row in rows] for name in names]
        batches = (batch_of(names, each, rows=len(rows)) for each in [values])
        return TableStream(columns, batches, notes, RowEstimate(len(rows)))


class TildeText(DelimitedText):
    """Delimited text with tildes, which DuckDB does not look for by itself."""

    name = "tildes"
    title = "text with tildes"
    suffixes = (".tilde",)
    delimiter = "~"

    def duckdb_calls(self, dialect: Dialect) -> Sequence[DuckDbCall]:
        return super().duckdb_calls(replace(dialect, delimiter=self.delimiter))
