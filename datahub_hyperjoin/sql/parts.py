"""SQL fragments that the statements of all joins share."""

from collections.abc import Sequence

from sqlglot import exp

from datahub_hyperjoin.sql.dialects import SqlDialect

ROW_LIMIT = 100
"""Maximum number of rows that a statement returns."""


def every_column(alias: str) -> exp.Column:
    """Return the expression `alias.*`."""
    return exp.Column(this=exp.Star(), table=_identifier(alias))


def sum_of_products(aliases: Sequence[str]) -> exp.Select:
    """Build a `SELECT` clause that computes a join's row count from the sizes of matching groups.

    The groups come from `count_groups`. The clause multiplies the counts of matching groups and
    sums the products.
    """
    first, *others = (exp.column("n", alias) for alias in aliases)
    rows: exp.Condition = first
    for other in others:
        rows = exp.Mul(this=rows, expression=other)
    # The sum of no rows is NULL.
    return exp.select(exp.func("COALESCE", exp.Sum(this=rows), exp.Literal.number(0)))


def count_groups(
    source: exp.Table, alias: str, values: Sequence[exp.Condition], dialect: SqlDialect
) -> exp.Subquery:
    """Build a subquery that counts rows for each combination of compared values.

    A collation may treat values as equal that the join distinguishes. So the rows are also grouped
    by an exact form.

    Returns:
        A table with the columns `k0`, `k1` and so on, and the number of rows, `n`.
    """
    exact = [dialect.fill(dialect.exact, value) for value in values]
    return (
        exp.select(
            *(exp.alias_(value, f"k{at}") for at, value in enumerate(values)),
            exp.alias_(exp.Count(this=exp.Star()), "n"),
        )
        .from_(with_alias(source, alias))
        .group_by(*dict.fromkeys([*values, *exact]))
        .subquery(alias)
    )


def with_alias(source: exp.Table, alias: str) -> exp.Table:
    """Give a table an alias in the `FROM` clause."""
    return exp.Table(this=source.this.copy(), alias=exp.TableAlias(this=_identifier(alias)))


def column_in_sql(members: tuple[str, ...], alias: str) -> exp.Condition:
    """Return the SQL expression for a column or a struct member."""
    first, *inner = (exp.to_identifier(name, quoted=True) for name in members)
    value: exp.Condition = exp.Column(this=first, table=_identifier(alias))
    for name in inner:
        value = exp.Dot(this=value, expression=name)
    return value


def all_equal(pairs: Sequence[tuple[exp.Condition, exp.Condition]]) -> exp.Condition:
    """Return the condition that the two expressions of each pair are equal."""
    return exp.and_(*(exp.EQ(this=first, expression=second) for first, second in pairs))


def _identifier(alias: str) -> exp.Identifier:
    return exp.to_identifier(alias)
