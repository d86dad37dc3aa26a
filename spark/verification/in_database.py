"""Let databases count the shared values and matching rows of their own columns.

Each column is grouped once, and then all of them together by the normal forms of their values, so
that only counts leave the database. The counts equal those of `counting`.
A column for which SQL cannot compute all normal forms has no counts, and is
read instead.
"""

# ruff: noqa: S608 (statements hold quoted names and expressions of this package only)

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Engine, inspect
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.counting.texts import NULL_WORDS
from datahub_hyperjoin.spark.databases.engines import (
    database_error_text,
    open_engine,
    without_type_warnings,
)
from datahub_hyperjoin.spark.databases.relations import reflect_columns
from datahub_hyperjoin.spark.databases.sql_forms import SqlForm, SqlSyntax
from datahub_hyperjoin.spark.databases.system import (
    computing_system,
    is_asked_to_compute,
    name_in_quotes,
    relation_in_quotes,
)
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.spark.verification.counting import PairCounts
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

PairsCounted = dict[Pair, PairCounts]
"""The counts of each pair. The pair of a column with itself has the column's numbers of distinct
values and of rows."""

_MOST_COLUMNS = 8
"""Maximum number of columns that one statement groups. The database keeps the groups of each column
until the statement ends, in memory or on disk."""


@dataclass(frozen=True, slots=True)
class _SqlColumn:
    """A column whose normal forms the database can compute."""

    id: ColumnId
    source: str
    name: str
    form: SqlForm
    syntax: SqlSyntax


def count_in_databases(
    tables: Sequence[Table], pairs: Iterable[Pair], texts: AbstractSet[ColumnId]
) -> PairsCounted:
    """Count the shared values and matching rows of pairs in the database that holds both columns.

    Pairs of columns from different databases are not counted.
    """
    relations = {
        table.id: table.location
        for table in tables
        if isinstance(table.location, Relation) and not table.location.copy
    }
    by_database: dict[Database, list[Pair]] = defaultdict(list)
    for left, right in sorted(set(pairs)):
        ends = [relations.get(column.table) for column in (left, right)]
        databases = {end.database for end in ends if end}
        if None not in ends and len(databases) == 1:
            by_database[databases.pop()].append((left, right))
    counted: PairsCounted = {}
    for database, inside in by_database.items():
        if is_asked_to_compute(database):
            counted |= _count_in_database(database, inside, relations, texts)
    return counted


def _count_in_database(
    database: Database,
    pairs: Sequence[Pair],
    relations: Mapping[TableId, Relation],
    texts: AbstractSet[ColumnId],
) -> PairsCounted:
    """Let one database count the shared values and matching rows of pairs of its columns."""
    connection = relations[pairs[0][0].table].connection
    try:
        with ExitStack() as opened:
            engine = open_engine(connection, database, database.max_connections)
            opened.callback(engine.dispose)
            columns = _describe(engine, {column for pair in pairs for column in pair}, relations)
            known = [pair for pair in pairs if all(column in columns for column in pair)]

            def count(chosen: Sequence[Pair]) -> PairsCounted:
                return _count(engine, chosen, columns, texts)

            pool = opened.enter_context(ThreadPoolExecutor(database.max_connections))
            return dict(chain(*(part.items() for part in pool.map(count, _divide(known)))))
    except (SQLAlchemyError, UnreachableDatabaseError) as error:
        _explain(error)
        return {}


def _describe(
    engine: Engine, wanted: AbstractSet[ColumnId], relations: Mapping[TableId, Relation]
) -> dict[ColumnId, _SqlColumn]:
    """Describe the columns whose normal forms the database can compute."""
    described = {}
    with engine.connect() as connection, without_type_warnings():
        system = computing_system(connection)
        if system is None or system.syntax is None:
            return {}
        inspector = inspect(connection)
        for table in sorted({column.table for column in wanted}):
            relation = relations[table]
            source = relation_in_quotes(relation, engine.dialect)
            for reflected in reflect_columns(relation, inspector):
                id_ = ColumnId(table, reflected.name)
                form = system.form_of_column(reflected.name, reflected.type)
                if form and id_ in wanted:
                    quoted = name_in_quotes(reflected.name, engine.dialect)
                    described[id_] = _SqlColumn(id_, source, quoted, form, system.syntax)
    return described


def _divide(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Divide sorted pairs into groups with few columns, one group for each statement."""
    chosen: list[Pair] = []
    for pair in pairs:
        if len({column for each in (*chosen, pair) for column in each}) > _MOST_COLUMNS:
            yield chosen
            chosen = []
        chosen.append(pair)
    if chosen:
        yield chosen


def _count(
    engine: Engine,
    pairs: Sequence[Pair],
    columns: Mapping[ColumnId, _SqlColumn],
    texts: AbstractSet[ColumnId],
) -> PairsCounted:
    """Count the shared values and matching rows of pairs with one SQL statement.

    Only in the columns in `texts` are words such as `NA` values; elsewhere they are nulls. A column
    that SQL cannot count exactly is left out with its pairs. If the statement fails, the result is
    empty.
    """
    grouped = [columns[id_] for id_ in dict.fromkeys(column for pair in pairs for column in pair)]
    counted = [*((column.id, column.id) for column in grouped), *pairs]
    try:
        with engine.connect() as connection:
            for preparation in grouped[0].syntax.preparations:
                connection.exec_driver_sql(preparation)
            row = connection.exec_driver_sql(_statement(grouped, counted)).mappings().one()
    except SQLAlchemyError as error:
        _explain(error)
        return {}
    counts = [
        PairCounts(*(int(row[f"{name}_{at}"] or 0) for name in ("shared", "matched", "joined")))
        for at in range(len(counted))
    ]
    inexact, exact = int(row["inexact"] or 0), set()
    for at, column in enumerate(grouped):
        words = int(row[f"words_{at}"])
        # If a column has no other values, its profile does not say whether it is text.
        are_nulls_certain = not words or (column.id in texts and words < counts[at].rows)
        if are_nulls_certain and not inexact >> at & 1:
            exact.add(column.id)
    return {
        pair: each for pair, each in zip(counted, counts, strict=True) if exact.issuperset(pair)
    }


def _statement(columns: Sequence[_SqlColumn], pairs: Sequence[Pair]) -> str:
    """Write the SQL statement that returns the counts of all pairs and columns in one row.

    Each distinct normal form gets its number of rows in each column, such as `n0`, which is null
    without rows. So each column is grouped once, and no join is needed.
    """
    syntax, names = columns[0].syntax, {column.id: f"n{at}" for at, column in enumerate(columns)}
    inexact = syntax.bits.format("x")
    results = [f"{inexact} AS inexact"]
    results += [
        f"coalesce(sum(CASE WHEN w THEN {name} END), 0) AS words_{at}"
        for at, name in enumerate(names.values())
    ]
    for at, pair in enumerate(pairs):
        left, right = (names[end] for end in pair)
        results.append(
            f"count(CASE WHEN {left} IS NOT NULL AND {right} IS NOT NULL THEN 1 END) "
            f"AS shared_{at}, sum(CASE WHEN {right} IS NOT NULL THEN {left} END) AS matched_{at}, "
            f"sum({left} * {right}) AS joined_{at}"
        )
    # Without a value, there is nothing to add: a null takes less time than a zero.
    rows = ", ".join(
        f"sum(CASE WHEN place = {at} THEN n END) AS {name}"
        for at, name in enumerate(names.values())
    )
    words = ", ".join(map(syntax.quote_text, NULL_WORDS))
    values = " UNION ALL ".join(_grouped(at, column) for at, column in enumerate(columns))
    by_form = (
        f"SELECT v IN ({words}) AS w, {inexact} AS x, {rows} FROM ({values}) AS u "
        "WHERE v <> '' OR x > 0 GROUP BY v"
    )
    return f"{syntax.settings}SELECT {', '.join(results)} FROM ({by_form}) AS r"


def _grouped(at: int, column: _SqlColumn) -> str:
    """Write the query for the normal forms of a column's distinct values, with their row counts.

    The result has the column's number `place`, the normal form `v`, the row count `n` and a number
    `x` with a bit for each column, which is set if the normal form may be wrong.

    Equal values are grouped before normal forms are computed, because these cost more.
    """
    form, value = column.form, column.form.value.format(column.name)
    fence = column.syntax.fence
    values = (
        f"SELECT {value} AS v, count(*) AS n FROM {column.source} "
        f"WHERE {column.name} IS NOT NULL GROUP BY 1"
    )
    folded = f"SELECT {form.folded} AS f, n, {form.inexact} AS x FROM ({values}) AS d{fence}"
    bits = f"CASE WHEN x THEN {1 << at} ELSE 0 END"
    return f"SELECT {at} AS place, {form.normal} AS v, n, {bits} AS x FROM ({folded}) AS e"


def _explain(error: Exception) -> None:
    reason = database_error_text(error)
    logger.info("Reading columns that the database could not compare: %s", reason)
