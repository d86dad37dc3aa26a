"""Read labelled lakes: folders of tables whose joins are known.

The folder holds `tables/*.csv`; `queries.csv` with the columns `table` and `column`, one query
column a line; and `ground_truth.csv` with `query_table`, `query_column`, `candidate_table` and
`candidate_column`, one join per line. A table is named after its file, without `.csv`. Further
columns and files are ignored.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from datahub_hyperjoin.evaluate.errors import LabelledLakeError


class ColumnName(NamedTuple):
    """The name of a column, together with the name of its table."""

    table: str  # the table's file name without `.csv`
    column: str  # the column's name in the table's header

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


class RankedColumn(NamedTuple):
    """A candidate in the ranking of a query column."""

    candidate: ColumnName  # the column that a method expects to join with the query column
    score: float  # the method's confidence; greater is surer


Rankings = Mapping[ColumnName, Sequence[RankedColumn]]
"""A method's ranking for each query column, best first; a query column may have none."""


@dataclass(frozen=True)
class LabelledLake:
    """A lake with query columns whose joins are known."""

    folder: Path  # the folder from which the lake was read
    headers: Mapping[str, frozenset[str]]  # the columns of each table
    # The columns that join with each query column, at least one; in the order of `queries.csv`.
    truth: Mapping[ColumnName, frozenset[ColumnName]]
    # The part of the lake that was kept, such as `100 tables`; empty for the whole lake.
    part: str = ""

    @property
    def name(self) -> str:
        """The lake's name, which is the name of its folder."""
        name = self.folder.resolve().name
        return f"{name} ({self.part})" if self.part else name

    @property
    def slug(self) -> str:
        """The lake's name in a form that is allowed in file names.

        >>> LabelledLake(Path("semantic"), {}, {}, "100 tables").slug
        'semantic-100-tables'
        """
        return "-".join([self.folder.resolve().name, *self.part.split()])

    def has(self, column: ColumnName) -> bool:
        """Return whether the lake contains the given column."""
        return column.column in self.headers.get(column.table, ())


def read_labelled_lake(folder: Path) -> LabelledLake:
    """Read the table headers, query columns and known joins of a labelled lake."""
    headers = _read_headers(folder / "tables")
    query_lines = _read_queries(folder / "queries.csv", headers)
    truth = _read_truth(folder / "ground_truth.csv", headers, query_lines)
    for query, line in query_lines.items():
        if not truth[query]:
            raise LabelledLakeError.unanswered(str(folder / "queries.csv"), line, query=str(query))
    return LabelledLake(folder, headers, {query: frozenset(them) for query, them in truth.items()})


def read_labelled_lakes(folders: Sequence[Path]) -> tuple[LabelledLake, ...]:
    """Read labelled lakes, one per folder."""
    lakes = tuple(read_labelled_lake(folder) for folder in folders)
    for name, count in Counter(lake.name for lake in lakes).items():
        if count > 1:
            raise LabelledLakeError.homonyms(name)
    return lakes


def _read_headers(folder: Path) -> dict[str, frozenset[str]]:
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise LabelledLakeError.missing(str(folder / "*.csv"))
    headers = {}
    for file in files:
        # Profiling reports malformed tables; here an unreadable byte must not stop the others.
        with file.open(encoding="utf-8", errors="replace", newline="") as opened:
            headers[file.stem] = frozenset(next(csv.reader(opened), []))
    return headers


def _read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the requested fields of each row."""
    if not path.is_file():
        raise LabelledLakeError.missing(str(path))
    try:
        # Spreadsheets write a byte order mark, which utf-8-sig drops.
        with path.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.reader(opened)
            header = next(reader, [])
            if absent := [column for column in columns if column not in header]:
                raise LabelledLakeError.without(str(path), columns=absent, header=header)
            for row in filter(None, reader):
                if len(row) != len(header):
                    raise LabelledLakeError.ragged(str(path), reader.line_num)
                yield reader.line_num, [row[header.index(column)] for column in columns]
    except (UnicodeDecodeError, csv.Error) as error:
        why = str(error) if isinstance(error, csv.Error) else f"it is not UTF-8 ({error})"
        raise LabelledLakeError.unreadable(str(path), reason=why) from error


def _existing(
    path: Path, line: int, headers: Mapping[str, frozenset[str]], name: Sequence[str]
) -> ColumnName:
    table, column = name
    if column not in headers.get(table, ()):
        raise LabelledLakeError.unknown(str(path), line, table=table, column=column)
    return ColumnName(table, column)


def _read_queries(path: Path, headers: Mapping[str, frozenset[str]]) -> dict[ColumnName, int]:
    """Read the query columns, each with its line number in `queries.csv`."""
    query_lines: dict[ColumnName, int] = {}
    for line, name in _read_rows(path, ["table", "column"]):
        query = _existing(path, line, headers, name)
        if query in query_lines:
            raise LabelledLakeError.repeated(str(path), line, query=str(query))
        query_lines[query] = line
    if not query_lines:
        raise LabelledLakeError.empty(str(path))
    return query_lines


def _read_truth(
    path: Path, headers: Mapping[str, frozenset[str]], query_lines: Mapping[ColumnName, int]
) -> dict[ColumnName, set[ColumnName]]:
    truth: dict[ColumnName, set[ColumnName]] = {query: set() for query in query_lines}
    columns = ["query_table", "query_column", "candidate_table", "candidate_column"]
    for line, fields in _read_rows(path, columns):
        query = _existing(path, line, headers, fields[:2])
        candidate = _existing(path, line, headers, fields[2:])
        if query not in truth:
            raise LabelledLakeError.unasked(str(path), line, query=str(query))
        if query.table == candidate.table:
            raise LabelledLakeError.within(str(path), line, query=str(query))
        truth[query].add(candidate)
    return truth
