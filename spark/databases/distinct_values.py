# ruff: noqa: S608 (statements hold quoted names and expressions of this package only)
"""Let a database select the distinct values of a column that its profile needs.

A profile needs the values with the smallest hashes. A database that computes the hash itself groups
the rows, and sends these values with their row counts; of a column with fewer values than a sketch
holds it sends all. Values whose normal form SQL cannot compute, nulls and words such as `NA` are
always among them, so that every value is normalised and hashed again here, exactly.
"""

from dataclasses import dataclass
from math import isqrt

import pyarrow as pa
from sqlalchemy import Connection

from datahub_hyperjoin.normal_form import LONGEST_HASHED
from datahub_hyperjoin.spark.counting.value_types import NULL_WORDS, PATTERNS_OF_TYPES
from datahub_hyperjoin.spark.databases.sql_forms import SqlColumn, SqlForm, quote_text
from datahub_hyperjoin.spark.objects import array_of
from datahub_hyperjoin.tables import DataType

_SPREAD = 6
"""Standard deviations by which the number of values below a hash may differ from its mean."""
_ALL = 1 << 64
_WORDS = ", ".join(map(quote_text, NULL_WORDS))


@dataclass(frozen=True, slots=True)
class SelectedValues:
    """The values of a column that its database selected."""

    values: pa.Array
    """Distinct values; nulls are one null entry."""

    counts: pa.Array
    """Number of rows that hold each value."""

    below: int
    """All values whose 64-bit hash is smaller have been selected; 2^64 if all have."""

    rows: int
    """Number of rows of the table."""

    lengths: tuple[int, int] | None
    """Lengths of the shortest and of the longest text; None if those selected show them."""

    @property
    def is_whole(self) -> bool:
        """Whether all values have been selected."""
        return self.below == _ALL


def select_values(connection: Connection, column: SqlColumn, most: int) -> SelectedValues:
    """Select the distinct values of a column, or those with the smallest hashes.

    Args:
        connection: A connection to the database.
        column: The column. If SQL cannot compute its normal form, all values are selected.
        most: Number of values up to which all are selected. Of more, at least as many are, with
            hardly an exception, and those of the smallest hashes.

    Returns:
        The values, in their order.

    Raises:
        SQLAlchemyError: The database cannot group the column.
    """
    rows = connection.exec_driver_sql(_selection(column, most)).all()
    [at] = [at for at, (_, count) in enumerate(rows) if "," in count]
    distinct, total, shortest, longest = rows.pop(at)[1].split(",")
    return SelectedValues(
        array_of([value for value, _ in rows]),
        pa.array([int(count) for _, count in rows], pa.int64()),
        below=_bound(int(distinct), most) if column.form else _ALL,
        rows=int(total),
        lengths=(int(shortest), int(longest)) if longest else None,
    )


def types_of_all(connection: Connection, column: SqlColumn, form: SqlForm) -> frozenset[DataType]:
    """Ask a database for the types of all values of a column that SQL can normalise.

    Args:
        connection: A connection to the database.
        column: The column.
        form: Its normal form.

    Returns:
        The types of its values, without those of nulls and of words such as `NA`.

    Raises:
        SQLAlchemyError: The database cannot group the column.
    """
    cases = " ".join(
        f"WHEN w ~ {quote_text(pattern)} THEN '{type_.value}'"
        for type_, pattern in PATTERNS_OF_TYPES.items()
    )
    statement = (
        f"SELECT DISTINCT CASE {cases} ELSE '{DataType.TEXT.value}' END "
        f"FROM ({normal_values(form, grouped_values(column))}) AS s "
        f"WHERE w <> '' AND w NOT IN ({_WORDS}) AND NOT x"
    )
    return frozenset(DataType(type_) for (type_,) in connection.exec_driver_sql(statement))


def grouped_values(column: SqlColumn) -> str:
    """Write the query that groups the rows of a column.

    Args:
        column: The column.

    Returns:
        A query of the distinct values `v` and the number of rows `n` of each.
    """
    value = column.form.value.format(column.name) if column.form else column.name
    return f"SELECT {value} AS v, count(*) AS n FROM {column.source} GROUP BY 1"


def normal_values(form: SqlForm, values: str) -> str:
    """Write the query that computes normal forms.

    Args:
        form: The normal form.
        values: A query of values `v`, and the number of rows `n` of each.

    Returns:
        The query of the same values, with their normal forms `w`, and whether these may be others
        `x`.
    """
    # OFFSET keeps the planner from computing an expression as often as it is used.
    folded = f"SELECT v, n, {form.folded} AS f, {form.inexact} AS x FROM ({values}) AS d OFFSET 0"
    return f"SELECT v, n, x, {form.normal} AS w FROM ({folded}) AS e OFFSET 0"


def _selection(column: SqlColumn, most: int) -> str:
    """Write the statement that selects values, and a row that sums up the column.

    The database groups the rows once, and evaluates one of the two selections only.
    """
    form = column.form
    lengths = f"min({form.length}), max({form.length})" if form and form.length else "NULL, NULL"
    many = f"(SELECT d FROM s) > {most}"
    parts = [
        "SELECT v, n::text FROM g" + (f" WHERE NOT {many}" if form else ""),
        "SELECT NULL, concat_ws(',', d, n, coalesce(a::text, ''), coalesce(b::text, '')) FROM s",
    ]
    if form:
        parts.append(_smallest(form, most, f"SELECT v, n FROM g WHERE {many}"))
    return (
        f"WITH g AS MATERIALIZED ({grouped_values(column)}), "
        f"s (d, n, a, b) AS MATERIALIZED "
        f"(SELECT count(*), coalesce(sum(n), 0), {lengths} FROM g) "
        f"{' UNION ALL '.join(parts)} ORDER BY 1"
    )


def _smallest(form: SqlForm, most: int, values: str) -> str:
    """Write the query that selects the values with the smallest hashes, and the odd ones."""
    hashed = f"CASE WHEN octet_length(w) > {LONGEST_HASHED} THEN md5(w) ELSE w END"
    # The upper half of the hash, without a sign.
    half = f"(hashtextextended({hashed}, 0) >> 32) & 4294967295"
    return (
        f"SELECT v, n::text FROM ({normal_values(form, values)}) AS q "
        f"WHERE v IS NULL OR x OR w = '' OR w IN ({_WORDS}) "
        f"OR ({half}) * (SELECT d FROM s) < {_enough(most) << 32}"
    )


def _enough(most: int) -> int:
    return most + _SPREAD * (isqrt(most) + 1)


def _bound(distinct: int, most: int) -> int:
    return _ALL if distinct <= most else (_enough(most) << 64) // distinct
