"""A benchmark: tables, the columns asked about, and which columns truly join with them.

Its folder holds `tables/*.csv`; `queries.csv` with the columns `table` and `column`; and
`ground_truth.csv` with `query_table`, `query_column`, `candidate_table`, `candidate_column`. A
table is called what its file is, without `.csv`. Further columns and files are not looked at.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from datahub_hyperjoin.evaluate.errors import SuiteError


class ColumnName(NamedTuple):
    """A column as a benchmark writes it."""

    table: str
    """The table's file, without `.csv`."""

    column: str
    """As the table's header has it."""

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


class RankedColumn(NamedTuple):
    """A column that a method says joins with a query."""

    candidate: ColumnName
    """Which column."""

    score: float
    """How sure the method is; greater is surer."""


Rankings = Mapping[ColumnName, Sequence[RankedColumn]]
"""A method's answers to each query, best first; a query without answers may be left out."""


@dataclass(frozen=True)
class Suite:
    """A benchmark that is sound: every name exists, every query has an answer."""

    folder: Path
    """Where it is."""

    headers: Mapping[str, frozenset[str]]
    """The columns of every table."""

    truth: Mapping[ColumnName, frozenset[ColumnName]]
    """Every query, in the order asked, and the columns that join with it."""

    part: str = ""
    """What it is cut to, as in `100 tables`; empty of a whole."""

    @property
    def name(self) -> str:
        """What the benchmark is called: its folder's name, and the part."""
        name = self.folder.resolve().name
        return f"{name} ({self.part})" if self.part else name

    @property
    def slug(self) -> str:
        """The name as file names have it.

        >>> Suite(Path("semantic"), {}, {}, "100 tables").slug
        'semantic-100-tables'
        """
        name = self.folder.resolve().name
        return "-".join([name, *self.part.split()])

    def has(self, column: ColumnName) -> bool:
        """Whether a table has such a column."""
        return column.column in self.headers.get(column.table, ())


def read_suite(folder: Path) -> Suite:
    """Reads a benchmark, without the rows of its tables.

    Args:
        folder: Where it is.

    Returns:
        The benchmark.

    Raises:
        SuiteError: A file is missing or malformed, or names what is not there.
    """
    headers = _read_headers(folder / "tables")
    asked = _read_queries(folder / "queries.csv", headers)
    truth = _read_truth(folder / "ground_truth.csv", headers, asked)
    for query, line in asked.items():
        if not truth[query]:
            raise SuiteError.unanswered(str(folder / "queries.csv"), line, query=str(query))
    return Suite(folder, headers, {query: frozenset(found) for query, found in truth.items()})


def read_suites(folders: Sequence[Path]) -> tuple[Suite, ...]:
    """Reads benchmarks whose names tell them apart.

    Args:
        folders: Where they are.

    Returns:
        One benchmark a folder.

    Raises:
        SuiteError: One cannot be used, or two share a name.
    """
    suites = tuple(read_suite(folder) for folder in folders)
    names = [suite.name for suite in suites]
    for name in names:
        if names.count(name) > 1:
            raise SuiteError.homonyms(name)
    return suites


def _read_headers(folder: Path) -> dict[str, frozenset[str]]:
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise SuiteError.missing(str(folder / "*.csv"))
    headers = {}
    for file in files:
        # Whatever is no text in a table is for profiling to name, not for its header.
        with file.open(encoding="utf-8", errors="replace", newline="") as opened:
            headers[file.stem] = frozenset(next(csv.reader(opened), []))
    return headers


def _read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The wanted fields of every row, and the line it ends in."""
    if not path.is_file():
        raise SuiteError.missing(str(path))
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.reader(opened)
            header = next(reader, [])
            absent = [column for column in columns if column not in header]
            if absent:
                raise SuiteError.without(str(path), columns=absent, header=header)
            places = [header.index(column) for column in columns]
            for row in filter(None, reader):
                if len(row) != len(header):
                    raise SuiteError.ragged(str(path), reader.line_num)
                yield reader.line_num, [row[place] for place in places]
    except UnicodeDecodeError as error:
        raise SuiteError.unreadable(str(path), reason=f"it is not UTF-8 ({error})") from error
    except csv.Error as error:
        raise SuiteError.unreadable(str(path), reason=str(error)) from error


def _existing(
    path: Path, line: int, headers: Mapping[str, frozenset[str]], name: Sequence[str]
) -> ColumnName:
    table, column = name
    if column not in headers.get(table, ()):
        raise SuiteError.unknown(str(path), line, table=table, column=column)
    return ColumnName(table, column)


def _read_queries(path: Path, headers: Mapping[str, frozenset[str]]) -> dict[ColumnName, int]:
    """Every query and its line."""
    asked: dict[ColumnName, int] = {}
    for line, name in _read_rows(path, ["table", "column"]):
        query = _existing(path, line, headers, name)
        if query in asked:
            raise SuiteError.repeated(str(path), line, query=str(query))
        asked[query] = line
    if not asked:
        raise SuiteError.empty(str(path))
    return asked


def _read_truth(
    path: Path, headers: Mapping[str, frozenset[str]], asked: Mapping[ColumnName, int]
) -> dict[ColumnName, set[ColumnName]]:
    truth: dict[ColumnName, set[ColumnName]] = {query: set() for query in asked}
    columns = ["query_table", "query_column", "candidate_table", "candidate_column"]
    for line, fields in _read_rows(path, columns):
        query = _existing(path, line, headers, fields[:2])
        candidate = _existing(path, line, headers, fields[2:])
        if query not in truth:
            raise SuiteError.unasked(str(path), line, query=str(query))
        if query.table == candidate.table:
            raise SuiteError.within(str(path), line, query=str(query))
        truth[query].add(candidate)
    return truth
