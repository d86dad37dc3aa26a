"""Export joins as SQL: keys that databases store, and do not enforce, and a semantic view."""

from collections.abc import Iterator

from datahub_hyperjoin.export.names import identifier, quoted_list, quoted_name, quoted_path
from datahub_hyperjoin.export.schema import (
    ExportedTable,
    JoinSchema,
    KeyColumns,
    NamedJoin,
    is_reliable,
)
from datahub_hyperjoin.joins.semantic_layers import describe_evidence

_NOTE = """\
-- RELY lets the database leave joins out of queries. It is written only where the last run compared
-- all rows and found every value, and both sides are integers. Other keys may be right, too.
"""
_NOT_NULL = "-- The columns of a primary key must be NOT NULL before these statements run.\n"


def to_snowflake_constraints(schema: JoinSchema) -> str:
    """Write Snowflake SQL that declares the referenced keys, then the foreign keys."""
    return _NOTE + "".join([*_keys(schema, "snowflake"), *_foreign_keys(schema, "snowflake")])


def to_databricks_constraints(schema: JoinSchema) -> str:
    """Write Databricks SQL that declares the primary keys, then the foreign keys."""
    lines = [*_keys(schema, "databricks"), *_foreign_keys(schema, "databricks")]
    return _NOTE + _NOT_NULL + "".join(lines)


def _keys(schema: JoinSchema, dialect: str) -> Iterator[str]:
    """Yield the statements that declare the referenced keys."""
    # Keys that the catalog already declares are left out.
    kind = "PRIMARY KEY" if dialect == "databricks" else "UNIQUE"
    for table in schema.tables:
        reliable: dict[KeyColumns, bool] = {}
        for join in schema.joins_to(table):
            key = join.join.referenced_columns
            reliable[key] = reliable.get(key, False) or is_reliable(join)
        if table.is_declared and table.id.platform == dialect:
            reliable.pop(table.primary_key, None)
        for key, is_rely in reliable.items():
            name = identifier(table.name, *key, "key")
            constraint = f"{kind} {quoted_list(key, dialect)}"
            yield _constrain(table, name, constraint, dialect, reliable=is_rely)


def _foreign_keys(schema: JoinSchema, dialect: str) -> Iterator[str]:
    for join in schema.joins:
        left, right = join.join.referring_columns, join.join.referenced_columns
        referenced = f"{quoted_path(join.referenced.path, dialect)} {quoted_list(right, dialect)}"
        key = f"FOREIGN KEY {quoted_list(left, dialect)} REFERENCES {referenced}"
        added = _constrain(join.referring, join.name, key, dialect, reliable=is_reliable(join))
        yield f"-- {describe_evidence(join.join)}\n{added}"


def _constrain(
    table: ExportedTable, name: str, constraint: str, dialect: str, *, reliable: bool
) -> str:
    return (
        f"ALTER TABLE {quoted_path(table.path, dialect)} ADD CONSTRAINT "
        f"{quoted_name(name, dialect)} {constraint} NOT ENFORCED "
        f"{'RELY' if reliable else 'NORELY'};\n"
    )


_DIALECT = "snowflake"
_VIEW = "suggested_joins"


def to_semantic_view(schema: JoinSchema) -> str:
    """Write the joins as relationships of a Snowflake semantic view."""
    # Snowflake refuses relationships in a circle. So a table is listed again, as a logical table of
    # another name, where it refers to itself, where a join would close a circle, and where several
    # columns of one table refer to it.
    targets = _targets(schema)
    tables = [_logical_table(table.name, table) for table in schema.tables]
    tables += [
        _logical_table(targets[join.name], join.referenced)
        for join in schema.joins
        if targets[join.name] != join.referenced.name
    ]
    relationships = [_relationship(join, targets[join.name]) for join in schema.joins]
    dimensions = [line for table in schema.tables for line in _dimensions(table)]
    return (
        f"CREATE SEMANTIC VIEW {_VIEW}\n"
        f"{_clause('TABLES', tables)}\n"
        f"{_clause('RELATIONSHIPS', relationships)}\n"
        f"{_clause('DIMENSIONS', dimensions)};\n"
    )


def _clause(name: str, lines: list[str]) -> str:
    body = ",\n    ".join(lines)
    return f"  {name} (\n    {body}\n  )"


def _targets(schema: JoinSchema) -> dict[str, str]:
    """Map the name of each join to the logical table that the join refers to."""
    reached, targets = {table.name: {table.name} for table in schema.tables}, {}
    for join in schema.joins:
        start, end = join.referring.name, join.referenced.name
        if join.needs_role or start in reached[end]:
            targets[join.name] = join.role_name
        else:
            targets[join.name] = end
            for names in reached.values():
                if start in names:
                    names.update(reached[end])
    return targets


def _logical_table(name: str, table: ExportedTable) -> str:
    keys = table.keys("PRIMARY KEY", "UNIQUE")
    words = [f"{kind} {quoted_list(key, _DIALECT)}" for key, kind in keys]
    return " ".join([quoted_name(name, _DIALECT), "AS", quoted_path(table.path, _DIALECT), *words])


def _relationship(named: NamedJoin, target: str) -> str:
    return (
        f"{quoted_name(named.name, _DIALECT)} AS {quoted_name(named.referring.name, _DIALECT)} "
        f"{quoted_list(named.join.referring_columns, _DIALECT)} REFERENCES "
        f"{quoted_name(target, _DIALECT)} {quoted_list(named.join.referenced_columns, _DIALECT)} "
        f"/* {describe_evidence(named.join)} */"
    )


def _dimensions(table: ExportedTable) -> Iterator[str]:
    name = quoted_name(table.name, _DIALECT)
    for path in table.columns:
        column = quoted_name(path, _DIALECT)
        yield f"{name}.{column} AS {column}"
