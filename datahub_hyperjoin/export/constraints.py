"""Export joins as foreign keys for Snowflake and Databricks.

These databases store foreign keys, but do not enforce them.
"""

from collections.abc import Iterator

from datahub_hyperjoin.export.evidence import describe_evidence, is_reliable
from datahub_hyperjoin.export.names import identifier
from datahub_hyperjoin.export.quoting import quoted_list, quoted_name, quoted_path
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, KeyColumns, NamedJoin

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
    """Yield the statements that declare the referenced keys.

    Keys that the catalog already declares are left out.
    """
    for table in schema.tables:
        is_declared = table.is_declared and table.id.platform == dialect
        for key in dict.fromkeys(join.join.referenced_columns for join in schema.joins_to(table)):
            if not (is_declared and key == table.primary_key):
                yield _key(schema, table, key, dialect)


def _key(schema: JoinSchema, table: ExportedTable, key: KeyColumns, dialect: str) -> str:
    joins = [join for join in schema.joins_to(table) if join.join.referenced_columns == key]
    name = quoted_name(identifier(table.name, *key, "key"), dialect)
    kind = "PRIMARY KEY" if dialect == "databricks" else "UNIQUE"
    return (
        f"ALTER TABLE {quoted_path(table.path, dialect)} ADD CONSTRAINT {name} {kind} "
        f"{quoted_list(key, dialect)} {_option(reliable=any(map(is_reliable, joins)))};\n"
    )


def _foreign_keys(schema: JoinSchema, dialect: str) -> Iterator[str]:
    for join in schema.joins:
        yield f"-- {describe_evidence(join.join)}\n{_foreign_key(join, dialect)}"


def _foreign_key(named: NamedJoin, dialect: str) -> str:
    columns = quoted_list(named.join.referenced_columns, dialect)
    return (
        f"ALTER TABLE {quoted_path(named.referring.path, dialect)} "
        f"ADD CONSTRAINT {quoted_name(named.name, dialect)} "
        f"FOREIGN KEY {quoted_list(named.join.referring_columns, dialect)} "
        f"REFERENCES {quoted_path(named.referenced.path, dialect)} {columns} "
        f"{_option(reliable=is_reliable(named))};\n"
    )


def _option(*, reliable: bool) -> str:
    return f"NOT ENFORCED {'RELY' if reliable else 'NORELY'}"
