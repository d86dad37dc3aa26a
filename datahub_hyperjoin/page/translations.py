"""Translate the SQL of joins into the dialects that readers of the page can choose.

The SQL that was run is the source. A translation was not run, and the page says so. Thousands of
statements have a few shapes, so the page stores each shape once, and each name once for each way to
quote it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from datahub_hyperjoin.export.names import (
    can_quote,
    distinct_names,
    identifier,
    name_parts,
    quoted_name,
)
from datahub_hyperjoin.joins import Statement
from datahub_hyperjoin.sql.dialects import DUCKDB
from datahub_hyperjoin.tables import TableId

TITLES = {
    "duckdb": "DuckDB",
    "postgres": "PostgreSQL",
    "mysql": "MySQL or MariaDB",
    "sqlite": "SQLite",
    "spark": "Spark or Databricks",
    "snowflake": "Snowflake",
    "bigquery": "BigQuery",
    "redshift": "Redshift",
    "tsql": "SQL Server",
    "trino": "Trino or Athena",
}
"""Titles of the SQL dialects that readers can choose, by sqlglot's names of the dialects."""

_ALIKE = (
    *(exp.Select, exp.From, exp.Join, exp.Table, exp.TableAlias, exp.Limit, exp.Column, exp.Star),
    *(exp.Identifier, exp.EQ, exp.And, exp.Literal, exp.Cast, exp.DataType, exp.Lower, exp.Trim),
    exp.Nullif,
)
"""The SQL constructs that sqlglot writes in every dialect with the same meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translations:
    """The SQL statements of joins in several dialects.

    They refer to dialects, shapes and names by index.
    """

    dialects: tuple[tuple[str, str, int], ...] = ()
    """For each dialect: its name, its title, and the index of its way to quote. Empty if there are
    no statements."""

    shapes: tuple[tuple[str, ...], ...] = ()
    """Statements without names, each in all dialects; `{0}` stands for the first name."""

    names: tuple[tuple[str, ...], ...] = ()
    """For each way to quote, all quoted names of tables and columns; empty for a name that cannot
    be written so."""

    joins: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each join, by its number: the dialect in which the statement was run, the shape of the
    statement, and its names. A statement without a shape cannot be translated."""

    steps: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each join through a crosswalk, the statement of both steps, encoded as in `joins`."""


def translate(
    joins: Mapping[int, Statement],
    steps: Mapping[int, Statement] | None = None,
    *,
    differing: Collection[int] = (),
) -> Translations:
    """Translate the SQL of joins into every dialect of the page."""
    # Joins in `differing`, whose tables write values differently, are left out: a plain `=` may
    # have sufficed only since the system has read both columns as dates, for example.
    shapes: dict[exp.Expr, int] = {}
    names: dict[str, int] = {}
    found = [
        {
            number: _run_only(statement)
            if number in differing
            else _translated(statement, shapes, names)
            for number, statement in statements.items()
            if statement.sql and statement.dialect in TITLES
        }
        for statements in (joins, steps or {})
    ]
    if not any(found):
        return Translations()
    quoted = {
        dialect: tuple(quoted_name(it, dialect) if can_quote(it, dialect) else "" for it in names)
        for dialect in TITLES
    }
    ways = tuple(dict.fromkeys(quoted.values()))
    return Translations(
        dialects=tuple((name, TITLES[name], ways.index(quoted[name])) for name in TITLES),
        shapes=tuple(tuple(_written(shape, name) for name in TITLES) for shape in shapes),
        names=ways,
        joins=found[0],
        steps=found[1],
    )


def _run_only(statement: Statement) -> tuple[int, ...]:
    return (list(TITLES).index(statement.dialect),)


def _translated(
    statement: Statement, shapes: dict[exp.Expr, int], names: dict[str, int]
) -> tuple[int, ...]:
    try:
        tree, *others = parse(statement.sql, dialect=statement.dialect)
    except (SqlglotError, RecursionError):
        tree, others = None, []
    # A person may have written anything in the place of a statement in the catalog.
    if tree is None or others:
        return _run_only(statement)
    if statement.dialect == DUCKDB.name:
        _name_files(tree.find_all(exp.Table))
    if not _is_alike(tree.walk()):
        return _run_only(statement)
    held = []
    for name in _quoted(tree):
        held.append(names.setdefault(name.this, len(names)))
        name.set("this", f"{{{len(held) - 1}}}")
    return (*_run_only(statement), shapes.setdefault(tree, len(shapes)), *held)


def _name_files(tables: Iterable[exp.Table]) -> None:
    """In the tables of a statement, replace file paths with table names."""
    # Only DuckDB reads a file by its path.
    unnamed = [(table, path) for table in tables if (path := _path(table))]
    paths = list(dict.fromkeys(path for _, path in unnamed))
    ids = [TableId("file", path.partition("/**")[0]) for path in paths]
    names = distinct_names([[*name_parts(id_), identifier(id_.name)] for id_ in ids])
    named = dict(zip(paths, names, strict=True))
    for table, path in unnamed:
        table.set("this", exp.to_identifier(named[path], quoted=True))


def _path(table: exp.Table) -> str:
    """Return the path of the file that is read as a table; empty for a database table."""
    if isinstance(table.this, exp.Identifier):
        return "" if table.args.get("db") else table.name
    path = table.this.find(exp.Literal)
    return path.name if path else ""


def _is_alike(nodes: Iterable[exp.Expr]) -> bool:
    """Return whether a statement means the same in all dialects."""
    # A column inside a struct does not: some dialects would read the column's name as a schema.
    # Neither does a literal with `{`, which would begin a placeholder.
    return all(
        type(node) in _ALIKE
        and not (isinstance(node, exp.Column) and node.args.get("db"))
        and not (isinstance(node, exp.Literal) and "{" in node.name)
        for node in nodes
    )


def _quoted(tree: exp.Expr) -> Sequence[exp.Identifier]:
    return [name for name in tree.find_all(exp.Identifier) if name.args.get("quoted")]


def _written(shape: exp.Expr, dialect: str) -> str:
    tree = shape.copy()
    for name in _quoted(tree):
        name.set("quoted", None)  # `quoted_name` has quoted what replaces it
    if dialect == "bigquery":
        # It cannot return two columns of one name, but `t` in the place of `t.*` as a struct.
        for column in tree.find_all(exp.Column):
            if isinstance(column.this, exp.Star):
                column.replace(exp.column(column.table))
    return tree.sql(dialect=dialect, pretty=True, identify=False)
