"""Convert joins to records of plain values, and write these records as CSV, JSON or SQL."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from datahub_hyperjoin.joins import FILE_DIALECT, SCORE_DIGITS, Join, Statement, rounded_share
from datahub_hyperjoin.joins.lists import DECLARED
from datahub_hyperjoin.tables import ColumnId, DataType
from datahub_hyperjoin.visible import visible, visible_json
from datahub_hyperjoin.wording import number_of

_WHERE = (
    "-- DuckDB finds files by the names below in the folder that was searched. Start it there.\n"
)


_Types = Mapping[ColumnId, DataType]


class _Ends(TypedDict):
    """What is joined."""

    left: str
    """The left column with its table. A composite join has several, separated by ` and `."""

    right: str
    """The right column."""

    role: str
    """The role of the join, such as `reference`."""

    joinability: float
    """The score, in [0, 1]."""

    status: str
    """`verified` on the data; or `declared, not verified`, without any measure."""


class _Measures(TypedDict):
    """What was measured on the data."""

    cardinality: str
    """Cardinality from left to right, such as `many-to-one`."""

    shared_values: int
    """Number of distinct values that occur on both sides."""

    left_containment: float
    """Share of the left side's distinct values that the right side holds."""

    right_containment: float
    """Share of the right side's distinct values that the left side holds."""

    left_fan_out: float
    """Mean number of joined rows per left row that has a value."""

    right_fan_out: float
    """Mean number of joined rows per right row that has a value."""

    rows: int
    """Number of rows that the join returns."""

    rows_as_written: int
    """Number of these rows that it returns if values are compared as they are written."""

    placeholders: str
    """The values that stand for a missing key, and that join nothing."""

    left_rows: int | None
    """Number of rows of the left table, an estimate for a table that was read in part; None if
    unknown."""

    left_rows_with_value: int | None
    """Number of these rows with a value in every column that the join compares."""

    left_rows_with_partner: int | None
    """Number of these rows that an inner join returns; None also if the rows of both tables repeat,
    and a column has more values than its profile keeps."""

    right_rows: int | None
    """Number of rows of the right table."""

    right_rows_with_value: int | None
    """Number of these rows with a value."""

    right_rows_with_partner: int | None
    """Number of these rows that an inner join returns."""


class _Sql(TypedDict):
    """How to join, and the names of tables and columns for programs."""

    compared_as: str
    """The form in which values were compared; empty if values were not converted."""

    sql: str
    """The SQL; empty if there is none."""

    sql_was_run: bool
    """Whether the SQL was run, and returned as many rows as `rows` says."""

    dialect: str
    """The dialect of the SQL."""

    no_sql: str
    """Why the join has no SQL; empty if it has SQL, or if the run wrote no SQL."""

    left_table: str
    """The left table, by the name that a file of decisions uses."""

    left_column: str
    """The left column; a JSON list for a composite key."""

    right_table: str
    """The right table, by the name that a file of decisions uses."""

    right_column: str
    """The right column; a JSON list for a composite key."""

    left_platform: str
    """DataHub's platform of the left table, such as `file` or `postgres`."""

    right_platform: str
    """DataHub's platform of the right table."""

    left_type: str
    """Type of the left column, such as `integer`; a JSON list for a composite key."""

    right_type: str
    """Type of the right column."""

    declared: bool
    """Whether a foreign key declares the join."""

    decision: str
    """`accepted` if a person has accepted the join; empty otherwise."""


class DeclaredRecord(_Ends, _Sql):
    """The join of a foreign key that no values confirm, as plain values."""


class JoinRecord(_Ends, _Measures, _Sql):
    """A join as plain values.

    The left column of a reference is the referring column.
    """


def record_of(join: Join, statement: Statement | None, types: _Types) -> JoinRecord:
    """Convert a join to plain values."""
    turned = join.referenced == join.left
    evidence = join.measured.reversed if turned else join.measured
    own, other = evidence.left_counts, evidence.right_counts
    measures = _Measures(
        cardinality=evidence.cardinality.words,
        shared_values=evidence.shared,
        left_containment=rounded_share(evidence.left_containment),
        right_containment=rounded_share(evidence.right_containment),
        left_fan_out=round(evidence.left_fan_out, SCORE_DIGITS),
        right_fan_out=round(evidence.right_fan_out, SCORE_DIGITS),
        rows=evidence.rows,
        rows_as_written=evidence.rows_as_written if evidence.compared_as else evidence.rows,
        placeholders=evidence.placeholders,
        left_rows=own.total if own else None,
        left_rows_with_value=own.filled if own else None,
        left_rows_with_partner=own.matched if own else None,
        right_rows=other.total if other else None,
        right_rows_with_value=other.filled if other else None,
        right_rows_with_partner=other.matched if other else None,
    )
    found = statement or Statement()
    return {**_ends(join, "verified"), **measures, **_sql(join, found, evidence.compared_as, types)}


def record_of_key(join: Join, types: _Types) -> DeclaredRecord:
    """Convert the join of a foreign key that no values confirm to values without measures."""
    return {**_ends(join, DECLARED), **_sql(join, Statement(reason=DECLARED), "", types)}


def _ends(join: Join, status: str) -> _Ends:
    left, right = zip(*join.directed_pairs, strict=True)
    return _Ends(
        left=" and ".join(map(str, left)),
        right=" and ".join(map(str, right)),
        role=join.role.value,
        joinability=round(join.joinability, SCORE_DIGITS),
        status=status,
    )


def _sql(join: Join, statement: Statement, compared_as: str, types: _Types) -> _Sql:
    left, right = zip(*join.directed_pairs, strict=True)
    return _Sql(
        compared_as=compared_as,
        sql=statement.sql,
        sql_was_run=bool(statement.sql and statement.was_run),
        dialect=statement.dialect,
        no_sql=statement.reason,
        left_table=str(left[0].table),
        left_column=_name([column.path for column in left]),
        right_table=str(right[0].table),
        right_column=_name([column.path for column in right]),
        left_platform=left[0].table.platform,
        right_platform=right[0].table.platform,
        left_type=_name([_type(column, types) for column in left]),
        right_type=_name([_type(column, types) for column in right]),
        declared=join.catalog.is_declared,
        decision=join.verdict.value if join.verdict else "",
    )


def _type(column: ColumnId, types: _Types) -> str:
    known = types.get(column)
    return known.value if known else ""


def _name(names: Sequence[str]) -> str:
    first, *others = names
    return json.dumps([first, *others], ensure_ascii=False) if others else first


def records_as_json(records: Sequence[DeclaredRecord]) -> str:
    """Write joins as a JSON array."""
    return visible_json(records) + "\n"


def records_as_csv(records: Sequence[DeclaredRecord]) -> str:
    """Write joins as CSV, with a header."""
    names = [*JoinRecord.__annotations__]
    cells = ([{**record}.get(name) for name in names] for record in records)
    return "".join([_in_csv(names), *map(_in_csv, cells)])


def _in_csv(cells: Iterable[object]) -> str:
    # Of the characters that need quotes, Python's writer knows only those of its own line end.
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


def records_as_sql(records: Sequence[DeclaredRecord]) -> str:
    """Write the SQL statements of joins, each after a comment that describes the join.

    Joins without SQL are comments, with the reason.
    """
    runs_on_files = any(record["dialect"] == FILE_DIALECT and record["sql"] for record in records)
    unrun = count_unrun(records)
    head = [*([_WHERE] if runs_on_files else []), *([f"-- {unrun}\n"] if unrun else [])]
    return "\n".join([*head, *map(_statement, records)])


def count_unrun(records: Sequence[DeclaredRecord]) -> str:
    """Say how many statements were run and how many were not; empty if all were run."""
    was_run = [record["sql_was_run"] for record in records if record["sql"]]
    if all(was_run):
        return ""
    statements, runs = number_of(len(was_run), "SQL statement"), was_run.count(True)
    verb = "was" if runs == 1 else "were"
    return (
        f"Of {statements}, {runs} {verb} run. The others are only written; run all: --run-sql all"
    )


def _statement(record: DeclaredRecord) -> str:
    condition = f"{record['left']} = {record['right']} ({record['joinability']:.2f}"
    # A name or a reason with a line break would leave the comment.
    if record["sql"]:
        unrun = "" if record["sql_was_run"] else ", not run"
        comment = visible(f"-- {condition}, {record['dialect']}{unrun})")
        return f"{comment}\n{record['sql']};\n"
    reason = " ".join(record["no_sql"].split()) or "none was written"
    return visible(f"-- {condition}) has no SQL: {reason}") + "\n"
