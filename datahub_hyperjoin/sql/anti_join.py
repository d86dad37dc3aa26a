"""Write the SQL that finds the rows which a join drops, from the SQL of the join."""

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from datahub_hyperjoin.joins import Statement
from datahub_hyperjoin.sql.dialects import write_sql
from datahub_hyperjoin.sql.parts import ROW_LIMIT


def write_anti_join(statement: Statement) -> str:
    """Write the SQL that returns the rows of table a of a join that have no partner.

    These are also the rows without a value: `NOT EXISTS` returns them, as no value equals a null.
    Values are compared as in the join. Nobody has run the SQL.

    Args:
        statement: The SQL of a join, as `JoinInSql` and `TwoStepsInSql` write it.

    Returns:
        A `SELECT` statement that returns up to 100 rows; empty without SQL, and if a person wrote
        other SQL in its place.
    """
    tree = _parse(statement)
    joins = tree.args.get("joins") if tree else None
    if tree is None or not joins:
        return ""
    first, *others = joins
    matching = exp.select("1").from_(first.this).where(first.args["on"])
    for other in others:
        matching = matching.join(other.this, on=other.args["on"])
    # The user may not be allowed to select all columns.
    shown = (
        each
        for each in tree.expressions
        if any(column.table == "a" for column in each.find_all(exp.Column))
    )
    lonely = (
        exp.select(*shown)
        .from_(tree.args["from_"].this)
        .where(exp.Not(this=exp.Exists(this=matching)))
        .limit(ROW_LIMIT)
    )
    return write_sql(lonely, statement.dialect, pretty=True)


def _parse(statement: Statement) -> exp.Select | None:
    """Parse the SQL of a join; return None for SQL of another form."""
    try:
        tree, *others = parse(statement.sql, dialect=statement.dialect)
    except (SqlglotError, RecursionError, ValueError):
        return None
    if others or not isinstance(tree, exp.Select):
        return None
    joins = tree.args.get("joins") or ()
    return tree if all("on" in join.args for join in joins) else None
