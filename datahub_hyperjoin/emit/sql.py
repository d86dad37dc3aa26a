"""A join as SQL that a person can run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from datahub.sql_parsing.sqlglot_utils import get_dialect
from sqlglot import Dialect, exp
from sqlglot.dialects.dialect import NormalizationStrategy
from typing_extensions import Self

from datahub_hyperjoin.emit.lineage import reference
from datahub_hyperjoin.tables import ColumnId, DataType, Join, TableId
from datahub_hyperjoin.urns import plain_path

_ROWS = 100
"""Rows that a statement asks for."""

_STORES = {"file": "", "s3": "s3://", "gcs": "gs://", "abs": "az://"}
"""Platforms whose tables are files, and what stands before a path there for DuckDB to read it."""

_FILES = re.compile(r"\.(?:parquet|(?:csv|tsv|jsonl|ndjson)(?:\.gz|\.zst)?)$", re.IGNORECASE)
"""What files are called that DuckDB reads by their names; it knows no ORC, nor which files of a
folder are a table's."""

_FOLDING = {"db2", "hana"}
"""Platforms that fold names to upper case, besides those whose dialect says so."""

_BOUNDED = {"dialect", "hana", "oracle", "teradata"}
"""What compares only text of a bounded length, or may: `dialect` is for unknown platforms."""

_LIKE = {DataType.INTEGER: DataType.DECIMAL, DataType.DATE: DataType.TIMESTAMP}
"""Types that every database compares with another one."""

_TYPE_NOTE = re.compile(r"\.?\[(?:version|type|key)=[^\]]*\]\.?")


def _members(column: ColumnId) -> list[str]:
    """The steps from a row to a value.

    DataHub's second version of paths says where a name ends. In the first a dot leads into a
    struct, but files of delimited text have none: there it is part of the name.

    >>> shop = TableId("hive", "shop.orders")
    >>> _members(ColumnId(shop, "[version=2.0].[type=struct].[type=struct].to.[type=string].city"))
    ['to', 'city']
    >>> _members(ColumnId(shop, "to.city")), _members(ColumnId(TableId("s3", "a.csv"), "to.city"))
    (['to', 'city'], ['to.city'])
    """
    if column.path.startswith("[version="):
        return [name for name in _TYPE_NOTE.split(column.path) if name]
    if column.table.name.lower().endswith((".csv", ".tsv")):
        return [column.path]
    return column.path.split(".")


@dataclass(frozen=True, slots=True)
class _Language:
    """How a platform is spoken to."""

    platform: str
    dialect: Dialect

    @classmethod
    def of(cls, platform: str) -> Self:
        """DataHub's choice; standard SQL for a platform that it has no dialect for."""
        try:
            return cls(platform, get_dialect("duckdb" if platform in _STORES else platform))
        except ValueError:
            return cls(platform, Dialect.get_or_raise(""))

    @property
    def name(self) -> str:
        return type(self.dialect).__name__.lower()

    def quote(self, name: str) -> exp.Identifier:
        """An identifier in quotes, whatever its signs, and though it be a reserved word.

        Of databases that fold names to upper case, DataHub gives them in lower case: what needed no
        quotes when it was created is in upper case there.
        """
        strategy = self.dialect.normalization_strategy
        folds = strategy is NormalizationStrategy.UPPERCASE or self.platform in _FOLDING
        folded = folds and re.fullmatch(r"[a-z_][a-z0-9_$]*", name)
        return exp.to_identifier(name.upper() if folded else name, quoted=True)

    def table(self, table: TableId, instance: str | None, alias: str) -> exp.Table:
        """A table by another name."""
        name = table.name.removeprefix(f"{instance}.") if instance else table.name
        if self.platform in _STORES or "/" in name:
            parts = [_STORES.get(self.platform, "") + name]
        else:
            parts = name.split(".")
        identifiers = [self.quote(part) for part in parts]
        return exp.Table(
            this=exp.Dot.build(identifiers) if parts[1:] else identifiers[0],
            alias=exp.TableAlias(this=exp.to_identifier(alias)),
        )

    def column(self, column: ColumnId, alias: str) -> exp.Condition:
        """A column, or the member of a struct."""
        first, *inner = _members(column)
        found: exp.Condition = exp.Column(this=self.quote(first), table=exp.to_identifier(alias))
        if inner and self.name == "snowflake":
            for name in inner:
                found = exp.Bracket(this=found, expressions=[exp.Literal.string(name)])
            return found
        if inner and self.name == "postgres":
            found = exp.Paren(this=found)
        for name in inner:
            found = exp.Dot(this=found, expression=self.quote(name))
        return found

    def text(self, value: exp.Condition) -> exp.Condition:
        """A value as text."""
        return exp.cast(value, "varchar(4000)" if _BOUNDED & {self.name, self.platform} else "text")

    def select(self) -> exp.Select:
        """All columns of both tables, as the database takes them when some share a name."""
        if self.name == "bigquery":
            return exp.select("a", "b")
        return exp.select(
            *(exp.Column(this=exp.Star(), table=exp.to_identifier(it)) for it in "ab")
        )

    def limit(self, statement: exp.Select) -> exp.Select:
        """A few rows; Oracle refuses columns that share a name when asked as others are."""
        if self.name == "oracle":
            return statement.where(exp.column("ROWNUM") <= _ROWS)
        return statement.limit(_ROWS)


def _comparable(one: DataType | None, other: DataType | None) -> bool:
    """Whether databases compare two types; where they are not known, they may be alike."""
    if one is None or other is None:
        return True
    return _LIKE.get(one, one) is _LIKE.get(other, other)


def join_statement(
    join: Join, *, types: Mapping[ColumnId, DataType], instances: Mapping[TableId, str] = {}
) -> str | None:
    """Some rows of a join, in the SQL of the tables' platform; files are read with DuckDB.

    The table that refers comes first, as `a`; the one it refers to is joined to it, as `b`.

    Args:
        join: The join.
        types: What columns hold, by their plain paths.
        instances: The tables' platform instances, which are no part of their names in SQL.

    Returns:
        None, if no one database has both tables, if DuckDB can't read one of them by its name, or
        if the columns write the same things differently, so that a statement would have to know
        what those are called.
    """
    first, second = reference(join) or (join.left, join.right)
    ends = (first.table, second.table)
    if join.evidence.compared_as:
        return None
    if any(one.platform in _STORES and not _FILES.search(one.name) for one in ends):
        return None
    if ends[0].platform != ends[1].platform or ends[0].env != ends[1].env:
        return None
    language = _Language.of(first.table.platform)
    left, right = language.column(first, "a"), language.column(second, "b")
    plain = (ColumnId(column.table, plain_path(column.path)) for column in (first, second))
    if not _comparable(*map(types.get, plain)):
        left, right = language.text(left), language.text(right)
    statement = (
        language.select()
        .from_(language.table(first.table, instances.get(first.table), "a"))
        .join(
            language.table(second.table, instances.get(second.table), "b"),
            on=exp.EQ(this=left, expression=right),
        )
    )
    return language.limit(statement).sql(dialect=language.dialect, pretty=True)
