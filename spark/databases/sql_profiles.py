"""Let a database count the values of a table's columns, and return a summary of each column.

Each column is grouped once by its normal form. What leaves the database is small, however long the
column is: counts, the smallest hashes of the values, and the texts of a sample.
"""

# ruff: noqa: S608 (statements hold quoted names and expressions of this package only)

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, Engine, Row, text

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.normal_form import Hashes
from datahub_hyperjoin.spark.counting.aggregate import LONGEST_TEXT
from datahub_hyperjoin.spark.counting.value_types import NULL_WORDS, TYPE_PATTERNS
from datahub_hyperjoin.spark.databases.key_ranges import RowSample
from datahub_hyperjoin.spark.databases.sql_forms import SqlForm, quote_text
from datahub_hyperjoin.tables import DataType

_MOST_COLUMNS = 8
"""Maximum number of columns in one statement. The database keeps each column, in memory or on disk,
until the statement ends."""
_MOST_INEXACT_BYTES = 1 << 20
"""Maximum size, in bytes, of a column's texts that SQL cannot normalise. The database returns these
texts; a column with more of them must be read."""
_FIRST_CHARACTER = 32
"""The character that stands for the length 0; a space."""
_END_BYTES = 7
"""Number of bytes of a hash without its first byte."""
_TYPES = (*TYPE_PATTERNS, DataType.TEXT)


@dataclass(frozen=True, slots=True)
class CountableColumn:
    """A column whose normal forms the database can compute."""

    path: str
    """Name of the column."""

    form: SqlForm
    """Expressions of the normal forms."""


@dataclass(frozen=True, slots=True, eq=False)
class SqlCounts:
    """The summary of a column that a database computes: counts, hashes and texts."""

    rows: int
    """Number of rows."""

    nulls: int
    """Number of rows without a value; empty texts are nulls."""

    types: frozenset[DataType]
    """Types of the values that SQL normalised, without those of null words."""

    lengths: tuple[int, int] | None
    """Shortest and longest length of the values that SQL normalised; None without such values."""

    hashes: Hashes
    """The smallest hashes of the values that SQL normalised, ascending."""

    text_lengths: tuple[int, ...]
    """For each hash, the length of one text with this hash; 1,000 for longer texts."""

    sample: Mapping[str, int]
    """The texts of the first hashes, each with its number of rows."""

    others: Mapping[str, int] | None
    """Null words and texts that SQL cannot normalise, each with its number of rows. None if there
    are too many such texts, or if values of another type cannot be normalised; the column must then
    be read."""


@dataclass(frozen=True, slots=True)
class SketchSizes:
    """Limits on the hashes and texts that a database returns for each column."""

    hashes: int
    """Number of hashes."""

    sample: int
    """Number of texts."""


def count_values(
    connection: Connection,
    relation: Relation,
    columns: Sequence[CountableColumn],
    sizes: SketchSizes,
    sample: RowSample | None,
    key: str,
) -> dict[str, SqlCounts]:
    """Count the values of columns, with one SQL statement for every eight columns.

    Args:
        connection: A connection to the table's database.
        relation: The table.
        columns: The columns.
        sizes: How much to return of each.
        sample: The rows to count; all if None.
        key: The integer key to which the ranges of the sample belong.

    Returns:
        Counts by path.

    Raises:
        SQLAlchemyError: A statement fails, or takes longer than the time limit.
    """
    counts: dict[str, SqlCounts] = {}
    # All statements see the same rows, so that the counts of all columns fit together.
    connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    for start in range(0, len(columns), _MOST_COLUMNS):
        chosen = columns[start : start + _MOST_COLUMNS]
        statement = _Statement(connection.engine, relation, sizes).text(chosen, sample, key)
        rows = connection.exec_driver_sql(statement).all()
        counts |= {column.path: read_counts(row) for column, row in zip(chosen, rows, strict=True)}
    return counts


class _Statement:
    """A writer of the SQL statement that returns one row of counts for each column."""

    def __init__(self, engine: Engine, relation: Relation, sizes: SketchSizes) -> None:
        self._quote = engine.dialect.identifier_preparer.quote_identifier
        names = (relation.schema, relation.name)
        self._table = ".".join(self._quote(name) for name in names if name)
        self._sizes = sizes

    def text(self, columns: Sequence[CountableColumn], sample: RowSample | None, key: str) -> str:
        """Write the statement.

        Args:
            columns: The columns.
            sample: The rows to count; all if None.
            key: The integer key to which the ranges of the sample belong.
        """
        names = ", ".join(self._quote(column.path) for column in columns)
        parts = [f"s AS MATERIALIZED ({self._sampled(names, sample, key)})"] if sample else []
        for at, column in enumerate(columns):
            source = "s" if sample else self._table
            parts.append(f"c{at} AS MATERIALIZED ({self._grouped(column, source)})")
            parts.append(f"k{at} AS MATERIALIZED ({self._smallest(at, column.form)})")
        rows = (self._summary(at, column.form) for at, column in enumerate(columns))
        return f"WITH {', '.join(parts)} {' UNION ALL '.join(rows)} ORDER BY 1"

    def _sampled(self, names: str, sample: RowSample, key: str) -> str:
        """Write the query that selects a sample of the table's rows.

        A run that reads the table uses the same ranges and limits. No order is asked for, so the
        database chooses the rows of each range, and may choose others when the table is read.
        """
        parts = []
        for first, end in sample.ranges:
            limits = [] if first is None else [f"{self._quote(key)} >= {first}"]
            limits += [] if end is None else [f"{self._quote(key)} < {end}"]
            where = f" WHERE {' AND '.join(limits)}" if limits else ""
            parts.append(f"(SELECT {names} FROM {self._table}{where} LIMIT {sample.limit})")
        return " UNION ALL ".join(parts)

    def _grouped(self, column: CountableColumn, source: str) -> str:
        """Write the query for the distinct values of a column.

        They have a normal form (`f`), a text (`t`), a row count (`n`) and two marks: whether SQL
        cannot normalise the text (`x`) and whether it is a null word (`w`). Equal values are
        grouped before normal forms are computed, because these cost more.
        """
        form, value = column.form, column.form.value.format(self._quote(column.path))
        words = ", ".join(map(quote_text, NULL_WORDS))
        values = f"SELECT {value} AS v, count(*) AS n FROM {source} GROUP BY 1"
        # OFFSET keeps the planner from computing an expression as often as it is used.
        folded = (
            f"SELECT {form.folded} AS f, v, n, coalesce({form.inexact}, false) AS x "
            f"FROM ({values}) AS d OFFSET 0"
        )
        normal = (
            f"SELECT CASE WHEN NOT x THEN {form.normal} END AS f, {form.text} AS t, n, x "
            f"FROM ({folded}) AS e OFFSET 0"
        )
        return f"SELECT f, t, n, x, f IN ({words}) AS w FROM ({normal}) AS g"

    def _smallest(self, at: int, form: SqlForm) -> str:
        """Write the query for the values with the smallest hashes."""
        values = f"SELECT md5(f) AS h, n, t FROM c{at} WHERE {_IS_VALUE}"
        if form.is_text:
            values = (
                f"SELECT md5(f) AS h, sum(n)::bigint AS n, min(t) AS t FROM c{at} "
                f"WHERE {_IS_VALUE} GROUP BY f"
            )
        return f'SELECT * FROM ({values}) AS d ORDER BY h COLLATE "C" LIMIT {self._sizes.hashes}'

    def _summary(self, at: int, form: SqlForm) -> str:
        """Write the query that summarises a column in one row, which `read_counts` can read."""
        totals = (
            "SELECT coalesce(sum(n), 0)::bigint AS rows, "
            "coalesce(sum(n) FILTER (WHERE NOT x AND coalesce(f, '') = ''), 0)::bigint AS nulls, "
            f"bit_or({_type_case(form)}) FILTER (WHERE {_IS_VALUE}) AS types, "
            f"min(char_length(t)) FILTER (WHERE {_IS_VALUE}) AS shortest, "
            f"max(char_length(t)) FILTER (WHERE {_IS_VALUE}) AS longest, "
            f"count(*) FILTER (WHERE x) <= {self._sizes.hashes if form.is_text else 0} AND "
            f"coalesce(sum(octet_length(t)) FILTER (WHERE x), 0) <= {_MOST_INEXACT_BYTES} AS fits "
            f"FROM c{at}"
        )
        # Sorted hashes have few first bytes, which are sent once; so are equal lengths.
        character = f"chr({_FIRST_CHARACTER} + least(char_length(t), {LONGEST_TEXT}))"
        hashes = (
            "SELECT encode(string_agg(decode(substr(h, 3, 14), 'hex'), ''::bytea ORDER BY h), "
            f"'base64') AS ends, CASE WHEN min({character}) = max({character}) "
            f"THEN min({character}) ELSE string_agg({character}, '' ORDER BY h) END "
            f"AS text_lengths FROM k{at}"
        )
        starts = (
            "SELECT array_agg(first ORDER BY first) AS starts, array_agg(n ORDER BY first) AS runs "
            f"FROM (SELECT left(h, 2) AS first, count(*) AS n FROM k{at} GROUP BY 1) AS b"
        )
        sample = (
            f"SELECT array_agg(left(t, {LONGEST_TEXT}) ORDER BY h) AS texts, "
            "array_agg(n ORDER BY h) AS text_counts "
            f"FROM (SELECT * FROM k{at} ORDER BY h LIMIT {self._sizes.sample}) AS b"
        )
        others = (
            "SELECT array_agg(t) AS other_texts, array_agg(n) AS other_counts "
            f"FROM c{at} WHERE (w OR x) AND fits"
        )
        return (
            f"SELECT {at} AS at, * FROM ({totals}) AS a, ({hashes}) AS h, ({starts}) AS r, "
            f"({sample}) AS m, LATERAL ({others}) AS o"
        )


def _type_case(form: SqlForm) -> str:
    """Write the SQL expression that encodes the type of a normal form as a bit."""
    patterns = ((type_, f"f ~ {quote_text(one)}") for type_, one in TYPE_PATTERNS.items())
    conditions = [*form.types] or [(DataType.TEXT, _IS_TEXT), *patterns]
    cases = " ".join(
        f"WHEN {condition} THEN {1 << _TYPES.index(type_)}" for type_, condition in conditions
    )
    return f"CASE {cases} ELSE {1 << _TYPES.index(DataType.TEXT)} END"


_IS_VALUE = "f <> '' AND NOT w"
# Bytes are compared much faster than regular expressions, and no pattern of a type matches these.
_IS_TEXT = "(f < '-' OR f >= ':') AND f NOT IN ('inf', 'true', 'false')"


def read_counts(row: Row[tuple[object, ...]]) -> SqlCounts:
    """Read the counts of a column from the row that the database returned.

    Args:
        row: A row of the statement that `count_values` executes.

    Returns:
        The counts.
    """
    hashes = _hashes_of(row)
    lengths = [ord(each) - _FIRST_CHARACTER for each in row.text_lengths or ""]
    return SqlCounts(
        rows=row.rows,
        nulls=row.nulls,
        types=_types_of(row.types or 0),
        lengths=None if row.shortest is None else (row.shortest, row.longest),
        hashes=hashes,
        text_lengths=tuple(lengths * len(hashes) if len(lengths) == 1 else lengths),
        sample=dict(zip(row.texts or (), row.text_counts or (), strict=True)),
        others=dict(zip(row.other_texts or (), row.other_counts or (), strict=True))
        if row.fits
        else None,
    )


def _hashes_of(row: Row[tuple[object, ...]]) -> Hashes:
    ends = np.frombuffer(base64.b64decode(row.ends or ""), np.uint8).reshape(-1, _END_BYTES)
    starts = [int(start, 16) for start in row.starts or ()]
    digests = np.empty((len(ends), _END_BYTES + 1), np.uint8)
    digests[:, 0] = np.repeat(np.array(starts, np.uint8), row.runs or ())
    digests[:, 1:] = ends
    return digests.view(">u8")[:, 0].astype(np.uint64)


def _types_of(bits: int) -> frozenset[DataType]:
    types = frozenset(type_ for bit, type_ in enumerate(_TYPES) if bits >> bit & 1)
    # Text fits all values, so the other types no longer matter.
    return frozenset({DataType.TEXT}) if DataType.TEXT in types else types
