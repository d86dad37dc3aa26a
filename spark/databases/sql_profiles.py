"""Let a database count the values of a table's columns, and return a summary of each column.

Each column is grouped once by its normal form. What leaves the database is small, however long the
column is: counts, the smallest hashes of the values, and the texts of a sample.
"""

# ruff: noqa: S608 (statements hold quoted names and expressions of this package only)

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

import numpy as np
from sqlalchemy import Connection, Engine, Row

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.normal_form import Hashes
from datahub_hyperjoin.spark.counting.aggregate import LONGEST_TEXT
from datahub_hyperjoin.spark.counting.placeholders import (
    FEWEST_KEYS,
    FEWEST_ROWS,
    MOST_PLACEHOLDERS,
    OTHER_KEYS,
)
from datahub_hyperjoin.spark.counting.texts import MARKERS, NULL_WORDS, TYPE_PATTERNS
from datahub_hyperjoin.spark.databases.relations import RowSample
from datahub_hyperjoin.spark.databases.sql_forms import SqlForm, SqlSyntax
from datahub_hyperjoin.spark.databases.system import name_in_quotes, relation_in_quotes
from datahub_hyperjoin.tables import DataType

FIRST_CHARACTER = 32
"""The character that stands for the length 0; a space."""
COUNTED_TYPES = (*TYPE_PATTERNS, DataType.TEXT)
"""The types of values, in the order of the bits by which a database reports them."""
_END_BYTES = 7
"""Number of bytes of a hash without its first byte."""


@dataclass(frozen=True, slots=True, eq=False)
class SqlCounts:
    """The summary of a column that a database computes: counts, hashes and texts."""

    rows: int
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

    is_exact: bool
    """Whether each text that SQL normalised is in one row only."""

    may_hide_keys: bool
    """Whether the values may be keys of which few are repeated or differ in case only, so that the
    counts of all of them are needed."""


def read_counts(row: Row[tuple[object, ...]]) -> SqlCounts:
    """Read the counts of a column from the row that the statement of `count_values` returned."""
    hashes = _hashes_of(row)
    lengths = [ord(each) - FIRST_CHARACTER for each in row.text_lengths or ""]
    lengths = lengths * len(hashes) if len(lengths) == 1 else lengths
    others = _split(row.others, _numbers(row.other_lengths)) if row.fits else ()
    return SqlCounts(
        rows=int(row.total),
        nulls=int(row.empty),
        types=_types_of(row.types or 0),
        lengths=None if row.shortest is None else (row.shortest, row.longest),
        hashes=hashes,
        text_lengths=tuple(lengths),
        sample=dict(zip(_split(row.texts, lengths), _numbers(row.text_counts), strict=False)),
        others=dict(zip(others, _numbers(row.other_counts), strict=True)) if row.fits else None,
        is_exact=row.most == 1,
        may_hide_keys=_may_hide_keys(row),
    )


def _may_hide_keys(row: Row[tuple[object, ...]]) -> bool:
    single, repeated, frequent, marked = (
        int(each) for each in (row.single, row.repeated, row.frequent, row.marked)
    )
    if row.most == 1 and repeated:
        return single + repeated >= FEWEST_KEYS
    is_few = repeated <= MOST_PLACEHOLDERS and (
        repeated == marked or (frequent and single > OTHER_KEYS - MOST_PLACEHOLDERS)
    )
    is_rare = marked and repeated < _FEW * single
    return bool(repeated and (is_few or is_rare)) and single >= FEWEST_KEYS


def _numbers(joined: str | None) -> list[int]:
    return [int(number) for number in joined.split(",")] if joined else []


def _split(joined: str | None, lengths: Sequence[int]) -> Iterator[str]:
    """Split joined texts by their lengths."""
    bounds = pairwise(accumulate(lengths, initial=0))
    return ((joined or "")[start:end] for start, end in bounds)


def _hashes_of(row: Row[tuple[object, ...]]) -> Hashes:
    joined = row.ends or b""
    ends = np.frombuffer(
        joined if isinstance(joined, bytes) else base64.b64decode(joined), np.uint8
    ).reshape(-1, _END_BYTES)
    starts = np.frombuffer(bytes.fromhex(row.starts or ""), np.uint8)
    ranks = [rank - 1 for rank in _numbers(row.start_ranks)]
    digests = np.empty((len(ends), _END_BYTES + 1), np.uint8)
    digests[:, 0] = np.repeat(starts, np.diff([*ranks, len(ends)]))
    digests[:, 1:] = ends
    return digests.view(">u8")[:, 0].astype(np.uint64)


def _types_of(bits: int) -> frozenset[DataType]:
    types = frozenset(type_ for bit, type_ in enumerate(COUNTED_TYPES) if bits >> bit & 1)
    # Text fits all values, so the other types no longer matter.
    return frozenset({DataType.TEXT}) if DataType.TEXT in types else types


_MOST_INEXACT_BYTES = 1 << 20
"""Maximum size, in bytes, of a column's texts that SQL cannot normalise. The database returns these
texts; a column with more of them must be read."""
_LONGEST_INEXACT = 1 << 16
"""Maximum size of each of these texts, in bytes, so that joining them takes little memory."""
_END_DIGITS = 14
"""Number of hexadecimal digits of a hash without its first byte."""
_DIGITS_BESIDE = 32
"""Maximum number of digits of a text's length or row count, with a separator."""
_BY_RANK = "kind, r"
_FEW = 0.05
"""Share of the values of keys that may be repeated, since a sketch only estimates their number."""
_NULL, _VALUE, _INEXACT = range(3)
"""Kinds of distinct values: nulls and null words, values, and texts that SQL cannot normalise."""


@dataclass(frozen=True, slots=True)
class CountableColumn:
    """A column whose normal forms the database can compute."""

    path: str
    form: SqlForm


@dataclass(frozen=True, slots=True)
class SqlSketch:
    """Limits on the hashes and texts that a database returns for each column."""

    syntax: SqlSyntax
    hashes: int
    """Number of hashes."""

    sample: int
    """Number of texts."""

    @property
    def is_joinable(self) -> bool:
        """Whether the database can join so many hashes, and so many texts of any length."""
        most = self.syntax.most_joined or math.inf
        return self.hashes * _END_DIGITS <= most and self.sample * LONGEST_TEXT <= most


def count_values(
    connection: Connection,
    relation: Relation,
    columns: Sequence[CountableColumn],
    sketch: SqlSketch,
    sample: RowSample | None,
    key: str,
) -> dict[str, SqlCounts]:
    """Count the values of columns, with one SQL statement for every few columns.

    The connection must have no transaction. `key` is the integer key to which the ranges of the
    sample belong. There are no counts if the database cannot join so many hashes or texts.
    """
    counts: dict[str, SqlCounts] = {}
    if not sketch.is_joinable:
        return counts
    # All statements see the same rows, so that the counts of all columns fit together.
    for preparation in sketch.syntax.preparations:
        connection.exec_driver_sql(preparation)
    step = sketch.syntax.most_columns
    for start in range(0, len(columns), step):
        chosen = columns[start : start + step]
        statement = _Statement(connection.engine, relation, sketch).text(chosen, sample, key)
        rows = sorted(connection.exec_driver_sql(statement).all(), key=lambda row: row.place)
        counts |= {column.path: read_counts(row) for column, row in zip(chosen, rows, strict=True)}
    return counts


class _Statement:
    """A writer of the SQL statement that returns one row of counts for each column."""

    def __init__(self, engine: Engine, relation: Relation, sketch: SqlSketch) -> None:
        self._quote = partial(name_in_quotes, dialect=engine.dialect)
        self._table = relation_in_quotes(relation, engine.dialect)
        self._sketch, self._syntax = sketch, sketch.syntax
        self._digits, self._length = sketch.syntax.digits.format, sketch.syntax.length.format("t")
        self._first_byte = sketch.syntax.start.format("h", 2)
        # Of each kind, ranks follow the hashes.
        self._by_hash = _BY_RANK if sketch.syntax.has_one_order else "h"
        self._words, self._markers = (
            ", ".join(map(self._syntax.quote_text, words)) for words in (NULL_WORDS, MARKERS)
        )

    def text(self, columns: Sequence[CountableColumn], sample: RowSample | None, key: str) -> str:
        names = ", ".join(self._quote(column.path) for column in columns)
        source, table = "", self._table
        if sample:
            table = "s"
            source = f"WITH s {self._syntax.materialized} ({self._sampled(names, sample, key)}) "
        rows = (self._summary(at, column, table) for at, column in enumerate(columns))
        return f"{self._syntax.settings}{source}{' UNION ALL '.join(rows)}"

    def _sampled(self, names: str, sample: RowSample, key: str) -> str:
        """Write the query that selects a sample of the table's rows.

        A run that reads the table uses the same ranges and limits. No order is asked for, so the
        database chooses the rows of each range, and may choose others when the table is read.
        """
        parts = []
        table = self._table if key else self._syntax.scanned.format(self._table)
        for first, end in sample.ranges:
            limits = [] if first is None else [f"{self._quote(key)} >= {first}"]
            limits += [] if end is None else [f"{self._quote(key)} < {end}"]
            where = f" WHERE {' AND '.join(limits)}" if limits else ""
            parts.append(f"(SELECT {names} FROM {table}{where} LIMIT {sample.limit})")
        return " UNION ALL ".join(parts)

    def _grouped(self, column: CountableColumn, source: str) -> str:
        """Write the query for the distinct values of a column.

        They have a normal form (`f`), a text (`t`), a row count (`n`) and three marks: whether SQL
        cannot normalise the text (`x`), whether it is a null word (`w`), and whether it often
        stands for a missing value (`m`). Equal values are
        grouped before normal forms are computed, because these cost more.
        """
        form, value = column.form, column.form.value.format(self._quote(column.path))
        fence = self._syntax.fence
        values = f"SELECT {value} AS v, count(*) AS n FROM {source} GROUP BY 1"
        folded = (
            f"SELECT {form.folded} AS f, v, n, coalesce({form.inexact}, false) AS x "
            f"FROM ({values}) AS d{fence}"
        )
        normal = (
            f"SELECT CASE WHEN NOT x THEN {form.normal} END AS f, {form.text} AS t, n, x "
            f"FROM ({folded}) AS e{fence}"
        )
        w, m = (f"coalesce(f IN ({words}), false)" for words in (self._words, self._markers))
        return f"SELECT f, t, n, x, {w} AS w, {m} AS m FROM ({normal}) AS g"

    def _distinct(self, column: CountableColumn, source: str) -> str:
        """Write the query for the distinct normal forms of a column.

        These have a kind, a type as a bit, a hash (`h`), a row count (`n`, of one spelling at
        `most`) and a text (`t`), whose spellings have lengths from `shortest` to `longest`. Null
        words and texts that SQL cannot normalise are distinct in each spelling.
        """
        grouped = self._grouped(column, source)
        hash_, length = self._syntax.exact.format(self._syntax.hashed.format("f")), self._length
        kind = f"CASE WHEN x THEN {_INEXACT} WHEN f <> '' AND NOT w THEN {_VALUE} ELSE {_NULL} END"
        # Without the normal form, fewer bytes are sorted.
        facts = f"SELECT w, m, {kind} AS kind, {self._type_case(column.form)} AS type, {hash_} AS h"
        if column.form.is_unique:
            lengths = f"{length} AS shortest, {length} AS longest"
            return f"{facts}, n, n AS most, t, {lengths} FROM ({grouped}) AS b"
        return (
            f"{facts}, sum(n) AS n, max(n) AS most, min(t) AS t, min({length}) AS shortest, "
            f"max({length}) AS longest FROM ({grouped}) AS b "
            "GROUP BY f, w, m, x, CASE WHEN w OR x THEN t END"
        )

    def _ranked(self, column: CountableColumn, source: str) -> str:
        """Write the query that ranks the distinct values of each kind by their hashes.

        The result has the rank `r`, and `previous`: the start of the previous hash. If the size of
        joined texts is limited, it also has the size `joined` of the words and texts so far.
        """
        # Not every database knows the clause WINDOW.
        by_hash = "OVER (PARTITION BY kind ORDER BY h)"
        ranks = f"row_number() {by_hash} AS r, lag({self._first_byte}) {by_hash} AS previous"
        if self._syntax.most_joined:
            size = f"{self._syntax.byte_length.format('t')} + {_DIGITS_BESIDE}"
            rows = f"{by_hash[:-1]} ROWS UNBOUNDED PRECEDING)"
            ranks += f", sum({_if(f'w OR kind = {_INEXACT}', size)}) {rows} AS joined"
        return f"SELECT *, {ranks} FROM ({self._distinct(column, source)}) AS c"

    def _summary(self, at: int, column: CountableColumn, source: str) -> str:
        """Write the query that summarises a column in one row, which `read_counts` can read."""
        sizes, bytes_ = self._sketch, self._syntax.byte_length.format("t")
        is_value, is_inexact = f"kind = {_VALUE}", f"kind = {_INEXACT}"
        most = sizes.hashes if column.form.is_text else 0
        fits = (
            f"count(CASE WHEN {is_inexact} THEN 1 END) <= {most} "
            f"AND coalesce(sum({_if(is_inexact, bytes_)}), 0) <= {_MOST_INEXACT_BYTES} "
            f"AND coalesce(max({_if(is_inexact, bytes_)}), 0) <= {_LONGEST_INEXACT}"
        )
        other = f"w OR {is_inexact} AND r <= {most} AND {bytes_} <= {_LONGEST_INEXACT}"
        if self._syntax.most_joined:
            # Words and texts are joined together.
            limit = self._syntax.most_joined // 2
            fits += f" AND coalesce(max(joined), 0) <= {limit}"
            other = f"({other}) AND joined <= {limit}"
        hashes = f"{is_value} AND r <= {sizes.hashes}"
        repeated = f"{is_value} AND n > 1"
        end = self._syntax.rest.format("h", 3)
        start = f"{hashes} AND (previous IS NULL OR previous <> {self._first_byte})"
        texts = f"{is_value} AND r <= {sizes.sample}"
        by_hash, length = self._by_hash, self._digits(self._length)
        # Sorted hashes have few first bytes, which are sent once.
        results = {
            "place": str(at),
            "total": "coalesce(sum(n), 0)",
            "empty": f"coalesce(sum({_if(f'kind = {_NULL} AND NOT w', 'n')}), 0)",
            "types": self._syntax.bits.format(_if(is_value, "type")),
            "shortest": f"min({_if(is_value, 'shortest')})",
            "longest": f"max({_if(is_value, 'longest')})",
            "ends": self._syntax.joined_bytes.format(end, by_hash, hashes),
            "starts": self._join(self._first_byte, by_hash, start),
            "start_ranks": self._join(self._digits("r"), by_hash, start, ","),
            "text_lengths": self._lengths(hashes),
            "texts": self._join(self._syntax.start.format("t", LONGEST_TEXT), by_hash, texts),
            "text_counts": self._join(self._digits("n"), by_hash, texts, ","),
            "single": f"count(CASE WHEN {is_value} AND n = 1 THEN 1 END)",
            "repeated": f"count(CASE WHEN {repeated} THEN 1 END)",
            "frequent": f"count(CASE WHEN {is_value} AND n >= {FEWEST_ROWS} THEN 1 END)",
            "marked": f"count(CASE WHEN {repeated} AND m THEN 1 END)",
            "most": f"max({_if(is_value, 'most')})",
            "fits": fits,
            "others": _if(fits, self._join("t", _BY_RANK, other)),
            "other_lengths": _if(fits, self._join(length, _BY_RANK, other, ",")),
            "other_counts": _if(fits, self._join(self._digits("n"), _BY_RANK, other, ",")),
        }
        selected = ", ".join(f"{expression} AS {name}" for name, expression in results.items())
        return f"SELECT {selected} FROM ({self._ranked(column, source)}) AS k"

    def _lengths(self, condition: str) -> str:
        """Write the expression for the lengths of texts, as one character each; equal ones once."""
        length = f"{FIRST_CHARACTER} + least({self._length}, {LONGEST_TEXT})"
        least, most = (f"{end}({_if(condition, length)})" for end in ("min", "max"))
        one, each = map(self._syntax.character.format, (least, length))
        all_ = self._join(each, self._by_hash, condition)
        return f"CASE WHEN {least} = {most} THEN {one} ELSE {all_} END"

    def _join(self, text: str, order: str, condition: str, separator: str = "") -> str:
        """Write the aggregate that joins the texts of the rows for which a condition holds."""
        return self._syntax.joined.format(text, f"'{separator}'", order, condition)

    def _type_case(self, form: SqlForm) -> str:
        """Write the SQL expression that encodes the type of a normal form as a bit."""
        patterns = (
            (type_, self._syntax.matching("f", pattern)) for type_, pattern in TYPE_PATTERNS.items()
        )
        conditions = [*form.types] or [(DataType.TEXT, _IS_TEXT), *patterns]
        cases = " ".join(
            f"WHEN {condition} THEN {1 << COUNTED_TYPES.index(type_)}"
            for type_, condition in conditions
        )
        return f"CASE {cases} ELSE {1 << COUNTED_TYPES.index(DataType.TEXT)} END"


def _if(condition: str, expression: str) -> str:
    """Write the expression that is null unless a condition holds; aggregates ignore nulls."""
    return f"CASE WHEN {condition} THEN {expression} END"


# Bytes are compared much faster than regular expressions, and no pattern of a type matches these.
_IS_TEXT = "(f < '-' OR f >= ':') AND f NOT IN ('inf', 'true', 'false')"
