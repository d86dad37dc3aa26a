"""Find SQL for joins, and reuse stored SQL if the tables have not changed."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from datahub_hyperjoin.joins import CrosswalkJoin, Join, JoinedColumns, Statement
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.profiles.store import Store, result_key
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.sql.find import LakeInSql, agrees
from datahub_hyperjoin.sql.run import SqlTest, run_joins
from datahub_hyperjoin.sql.two_steps import columns_in_order
from datahub_hyperjoin.sql.write import sides_of

_RESULTS = "statements"


def find_join_sql(
    joins: Sequence[Join | CrosswalkJoin],
    lake: LakeInSql,
    *,
    store: Store,
    session: Session,
    test: SqlTest,
    progress: Progress,
) -> dict[JoinedColumns, Statement]:
    """Find a SQL statement for each join.

    Stored SQL is reused if the tables have not changed.

    Args:
        joins: The joins of the run.
        lake: Their tables and columns.
        store: Keeps the results for the next run.
        session: Starts the Spark session; called only if a table is in a Spark catalog.
        test: The joins whose SQL is run. That of the others is written only.
        progress: Receives counts.

    Returns:
        For each join its statement, or the reason why it has none. A join whose columns only a
        crosswalk connects has the statement of both steps, if they are among the joins.
    """
    kept = store.results(_RESULTS)
    keys = {join.pairs: _key(join, lake, test.timeout) for join in joins}
    stored = {
        pairs: Statement(**json.loads(kept[key])) for pairs, key in keys.items() if key in kept
    }
    changed = [join for join in joins if join.pairs not in stored]
    run = run_joins(changed, lake, session=session, test=test, progress=progress)
    statements = _with_two_steps(joins, {**stored, **run})
    store.keep_results(
        _RESULTS,
        {
            keys[pairs]: json.dumps(asdict(found))
            for pairs, found in statements.items()
            if found.was_run
        },
    )
    progress.count("sql_from_profile_store", len(stored))
    progress.count("joins_with_sql", sum(bool(found.sql) for found in statements.values()))
    progress.count("joins_with_sql_not_run", sum(not each.was_run for each in statements.values()))
    progress.count(
        "joins_with_normalised_sql", sum(bool(found.compared) for found in statements.values())
    )
    return statements


def _key(join: Join | CrosswalkJoin, lake: LakeInSql, timeout: float) -> str:
    tables = dict.fromkeys(column.table for pair in join.pairs for column in pair)
    columns = sides_of(join) if isinstance(join, Join) else columns_in_order(join)
    return result_key(
        [lake.tables[table] for table in tables],
        repr(columns),
        repr(join.evidence),
        # A statement that took too long may end within another limit.
        repr(timeout),
        repr(lake.addresses),
    )


def _with_two_steps(
    joins: Sequence[Join | CrosswalkJoin], statements: dict[JoinedColumns, Statement]
) -> dict[JoinedColumns, Statement]:
    """For joins that have no SQL, reuse the SQL that joins their columns through a crosswalk.

    If the statement was run, it must return as many rows as the evidence of the join states.
    """
    lent = {}
    for join in joins:
        if isinstance(join, Join) and join.via and not statements[join.pairs].sql:
            steps = (join.left, join.via[0]), (join.via[1], join.right)
            statement = statements.get(steps)
            if statement and (not statement.was_run or agrees(statement.rows, join.measured.rows)):
                lent[join.pairs] = statement
    return {**statements, **lent}
