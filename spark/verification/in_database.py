"""Let databases count the shared values and matching rows of their own columns.

Each column is grouped once by its normal form, and the groups are joined, so that only counts leave
the database. The counts equal those of `hash_partition` and `partition_counts`. A column whose
normal form SQL cannot compute for all of its values has no counts here, and is read instead.
"""

# ruff: noqa: S608 (statements hold quoted names and expressions of this package only)

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sqlalchemy import Engine, Row, inspect
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.spark.counting.value_types import NULL_WORDS
from datahub_hyperjoin.spark.databases.engines import (
    database_error_text,
    open_engine,
    without_type_warnings,
)
from datahub_hyperjoin.spark.databases.relations import name_of
from datahub_hyperjoin.spark.databases.sql_forms import (
    SqlForm,
    can_compute,
    quote_text,
    sql_form_of,
)
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId

logger = logging.getLogger(__name__)

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
    """The quoted name of the column's table."""
    name: str
    """The quoted name of the column."""
    form: SqlForm


def count_in_databases(
    tables: Sequence[Table], pairs: Iterable[Pair], texts: AbstractSet[ColumnId]
) -> PairsCounted:
    """Count the shared values and matching rows of pairs in the database that holds both columns.

    Pairs of columns from different databases are not counted.

    Args:
        tables: The tables of the columns.
        pairs: Left and right columns.
        texts: Columns of text, in which words such as `NA` are values.

    Returns:
        Counts of the pairs that a database could count exactly, and of each of their columns with
        itself.
    """
    relations = {
        table.id: table.location for table in tables if isinstance(table.location, Relation)
    }
    by_database: dict[Database, list[Pair]] = defaultdict(list)
    for left, right in sorted(set(pairs)):
        ends = [relations.get(column.table) for column in (left, right)]
        databases = {end.database for end in ends if end}
        if None not in ends and len(databases) == 1:
            by_database[databases.pop()].append((left, right))
    counted: PairsCounted = {}
    for database, inside in by_database.items():
        if database.compute is Compute.DATABASE:
            counted |= _count_in_database(database, inside, relations, texts)
    return counted


def _count_in_database(
    database: Database,
    pairs: Sequence[Pair],
    relations: Mapping[TableId, Relation],
    texts: AbstractSet[ColumnId],
) -> PairsCounted:
    """Let one database count the shared values and matching rows of pairs of its columns.

    As many connections are open at once as the recipe allows for the database. Columns in `texts`
    are text, in which words such as `NA` are values. If the database fails, the result is empty.
    """
    connection = relations[pairs[0][0].table].connection
    engine = None
    try:
        engine = open_engine(connection, database, database.max_connections)
        columns = _describe(engine, {column for pair in pairs for column in pair}, relations)
        known = [pair for pair in pairs if all(column in columns for column in pair)]

        def count(chosen: Sequence[Pair]) -> PairsCounted:
            return _count(engine, chosen, columns, texts)

        with ThreadPoolExecutor(database.max_connections) as pool:
            parts = [*pool.map(count, _divide(known))]
    except (SQLAlchemyError, UnreachableDatabaseError) as error:
        _explain(error)
        return {}
    finally:
        if engine is not None:
            engine.dispose()
    return {pair: counts for part in parts for pair, counts in part.items()}


def _describe(
    engine: Engine, wanted: AbstractSet[ColumnId], relations: Mapping[TableId, Relation]
) -> dict[ColumnId, _SqlColumn]:
    """Describe the columns whose normal forms the database can compute."""
    described = {}
    with engine.connect() as connection, without_type_warnings():
        if not can_compute(connection):
            return {}
        inspector, quote = inspect(connection), engine.dialect.identifier_preparer.quote_identifier
        for table in sorted({column.table for column in wanted}):
            relation = relations[table]
            source = ".".join(quote(part) for part in (relation.schema, relation.name) if part)
            for reflected in inspector.get_columns(relation.name, relation.schema or None):
                id_ = ColumnId(table, name_of(reflected["name"], inspector))
                form = sql_form_of(reflected["type"], connection)
                if form and id_ in wanted:
                    described[id_] = _SqlColumn(id_, source, quote(id_.path), form)
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
    grouped = [*dict.fromkeys(column for pair in pairs for column in pair)]
    statement = _statement([columns[id_] for id_ in grouped], pairs)
    try:
        with engine.connect() as connection:
            rows = connection.exec_driver_sql(statement).all()
    except SQLAlchemyError as error:
        _explain(error)
        return {}
    exact = {id_ for id_, row in zip(grouped, rows, strict=False) if _is_exact(row, id_ in texts)}
    selves = [(id_, id_) for id_ in grouped]
    return {
        pair: PairCounts(row.shared, int(row.rows or 0), int(row.joined or 0))
        for pair, row in zip([*selves, *pairs], rows, strict=True)
        if exact.issuperset(pair)
    }


def _is_exact(row: Row[tuple[object, ...]], is_text: bool) -> bool:  # noqa: FBT001 (private)
    """Return whether reading a column would give the same counts as the database.

    Words such as `NA` are nulls unless the column is text. If a column has no other values, its
    profile does not say whether it is text.
    """
    are_values = is_text and row.words < (row.rows or 0)
    return not row.inexact and (are_values or not row.words)


def _statement(columns: Sequence[_SqlColumn], pairs: Sequence[Pair]) -> str:
    """Write the SQL statement that returns one row of counts per column, then one per pair."""
    names = {column.id: f"c{number}" for number, column in enumerate(columns)}
    words = ", ".join(map(quote_text, NULL_WORDS))
    groups = ", ".join(
        f"{names[column.id]} AS MATERIALIZED ({_grouped(column)})" for column in columns
    )
    counts = [
        f"SELECT {at}, count(*) AS shared, sum(n) AS rows, sum(n::numeric * n) AS joined, "
        f"coalesce(bool_or(x), false) AS inexact, "
        f"coalesce(sum(n) FILTER (WHERE v IN ({words})), 0) AS words FROM {name} "
        "WHERE v <> '' OR x"
        for at, name in enumerate(names.values())
    ]
    counts += [
        f"SELECT {at}, count(*), sum(l.n), sum(l.n::numeric * r.n), false, 0 "
        f"FROM {names[left]} l JOIN {names[right]} r USING (v) WHERE v <> ''"
        for at, (left, right) in enumerate(pairs, len(counts))
    ]
    return f"WITH {groups} {' UNION ALL '.join(counts)} ORDER BY 1"


def _grouped(column: _SqlColumn) -> str:
    """Write the query for the distinct normal forms of a column, with their row counts.

    The result has the normal form `v`, the row count `n` and a mark `x`, which is true if the
    normal form may be wrong.

    Equal values are grouped before normal forms are computed, because these cost more.
    """
    form, value = column.form, column.form.value.format(column.name)
    values = (
        f"SELECT {value} AS v, count(*) AS n FROM {column.source} "
        f"WHERE {column.name} IS NOT NULL GROUP BY 1"
    )
    # OFFSET keeps the planner from computing an expression as often as it is used.
    folded = f"SELECT {form.folded} AS f, n, {form.inexact} AS x FROM ({values}) AS d OFFSET 0"
    normal = f"SELECT {form.normal} AS v, n, x FROM ({folded}) AS e"
    return f"SELECT v, sum(n) AS n, bool_or(x) AS x FROM ({normal}) AS g GROUP BY 1"


def _explain(error: SQLAlchemyError | UnreachableDatabaseError) -> None:
    reason = database_error_text(error) if isinstance(error, SQLAlchemyError) else str(error)
    logger.info("Reading columns that the database could not compare: %s", reason)
