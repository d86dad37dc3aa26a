"""Write a join as a SQL statement that people can run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from datahub.sql_parsing.sqlglot_utils import get_dialect
from sqlglot import Dialect, exp
from sqlglot.dialects.dialect import NormalizationStrategy
from typing_extensions import Self

from datahub_hyperjoin.emit.lineage import reference
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.tables import ColumnId, DataType, TableId
from datahub_hyperjoin.urns import plain_path

_ROWS = 100
"""Row limit of a statement."""

_STORES = {"file": "", "s3": "s3://", "gcs": "gs://", "abs": "az://"}
"""Platforms whose tables are files, with the prefix that a path needs for DuckDB to read it."""

_FILES = re.compile(r"\.(?:parquet|(?:csv|tsv|jsonl|ndjson)(?:\.gz|\.zst)?)$", re.IGNORECASE)
"""Names of files that DuckDB reads by their suffix. It reads neither ORC nor a whole folder."""

_FOLDING = {"db2", "hana"}
"""Platforms that fold names to upper case although their dialect here does not."""

_BOUNDED = {"dialect", "hana", "oracle", "teradata"}
"""Dialects and platforms that compare only text of bounded length; `dialect` is the unknown one,
and may be such a platform."""

_COMPARED_AS = {DataType.INTEGER: DataType.DECIMAL, DataType.DATE: DataType.TIMESTAMP}
"""Types that every database compares with each other."""

_TYPE_NOTE = re.compile(r"\.?\[(?:version|type|key)=[^\]]*\]\.?")


def _members(column: ColumnId) -> list[str]:
    """Return the names that lead from a row to a value: the column, then members of structs.

    Version 2 of DataHub's field paths marks the end of each name. In version 1, a dot leads into a
    struct; delimited text has no structs, so there a dot is part of the name.

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
class _SqlWriter:
    """The SQL of one platform."""

    platform: str
    dialect: Dialect

    @classmethod
    def of(cls, platform: str) -> Self:
        """Create a writer for a platform's SQL dialect, or for standard SQL if it has none."""
        try:
            return cls(platform, get_dialect("duckdb" if platform in _STORES else platform))
        except ValueError:
            return cls(platform, Dialect.get_or_raise(""))

    @property
    def name(self) -> str:
        return type(self.dialect).__name__.lower()

    def quote(self, name: str) -> exp.Identifier:
        """Return a quoted identifier, which may have any characters or be a reserved word.

        DataHub stores names in lower case for databases that fold names to upper case. There, a
        name that needs no quotes was created in upper case.
        """
        strategy = self.dialect.normalization_strategy
        folds = strategy is NormalizationStrategy.UPPERCASE or self.platform in _FOLDING
        folded = folds and re.fullmatch(r"[a-z_][a-z0-9_$]*", name)
        return exp.to_identifier(name.upper() if folded else name, quoted=True)

    def table(self, table: TableId, instance: str | None, alias: str) -> exp.Table:
        """Return a table with an alias."""
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
        """Return a column, or the member of a struct."""
        first, *inner = _members(column)
        value: exp.Condition = exp.Column(this=self.quote(first), table=exp.to_identifier(alias))
        if inner and self.name == "snowflake":
            # Members of Snowflake's objects are case-sensitive keys rather than identifiers.
            for name in inner:
                value = exp.Bracket(this=value, expressions=[exp.Literal.string(name)])
            return value
        if inner and self.name == "postgres":
            # Without parentheses, PostgreSQL reads the name before a dot as a table.
            value = exp.Paren(this=value)
        for name in inner:
            value = exp.Dot(this=value, expression=self.quote(name))
        return value

    def text(self, value: exp.Condition) -> exp.Condition:
        """Convert a value to text."""
        return exp.cast(value, "varchar(4000)" if _BOUNDED & {self.name, self.platform} else "text")

    def select(self) -> exp.Select:
        """Select all columns of both tables, in the form that allows duplicate names."""
        if self.name == "bigquery":
            # BigQuery rejects duplicate column names, but returns a whole row as one struct.
            return exp.select("a", "b")
        return exp.select(
            *(exp.Column(this=exp.Star(), table=exp.to_identifier(alias)) for alias in "ab")
        )

    def limit(self, statement: exp.Select) -> exp.Select:
        """Limit the rows of a statement; for Oracle by a condition on `ROWNUM`."""
        if self.name == "oracle":
            # Oracle's usual form, FETCH FIRST, rejects the duplicate names of `a.*, b.*`.
            return statement.where(exp.column("ROWNUM") <= _ROWS)
        return statement.limit(_ROWS)


def _comparable(left: DataType | None, right: DataType | None) -> bool:
    """Return whether databases can compare values of two types; True if a type is unknown."""
    if left is None or right is None:
        return True
    return _COMPARED_AS.get(left, left) is _COMPARED_AS.get(right, right)


def join_statement(
    join: Join, *, types: Mapping[ColumnId, DataType], instances: Mapping[TableId, str] = {}
) -> str | None:
    """Return a statement that selects some rows of a join, in the SQL of the tables' platform.

    Files are read with DuckDB. The referring table comes first, as `a`; the referenced table is
    joined to it, as `b`.

    Args:
        join: The join.
        types: Data types of columns, by their plain paths.
        instances: Platform instances of tables, which are not part of their names in SQL.

    Returns:
        None if no single database has both tables, if DuckDB cannot read a file by its name, or if
        the columns have different codes or names for the same values, which SQL cannot compare.
    """
    first, second = reference(join) or (join.left, join.right)
    ends = (first.table, second.table)
    if join.evidence.compared_as:
        return None
    if any(table.platform in _STORES and not _FILES.search(table.name) for table in ends):
        return None
    if ends[0].platform != ends[1].platform or ends[0].env != ends[1].env:
        return None
    sql = _SqlWriter.of(first.table.platform)
    left, right = sql.column(first, "a"), sql.column(second, "b")
    plain = (ColumnId(column.table, plain_path(column.path)) for column in (first, second))
    if not _comparable(*map(types.get, plain)):
        left, right = sql.text(left), sql.text(right)
    statement = (
        sql.select()
        .from_(sql.table(first.table, instances.get(first.table), "a"))
        .join(
            sql.table(second.table, instances.get(second.table), "b"),
            on=exp.EQ(this=left, expression=right),
        )
    )
    return sql.limit(statement).sql(dialect=sql.dialect, pretty=True)
