"""Export joins as a Python module with SQLAlchemy tables."""

import json
import keyword
from collections.abc import Iterable, Iterator, Mapping

from datahub_hyperjoin.export.evidence import describe_evidence
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, NamedJoin
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.visible import visible

_TYPES: Mapping[DataType | None, str] = {
    DataType.TEXT: "Text",
    DataType.INTEGER: "BigInteger",
    DataType.DECIMAL: "Numeric",
    DataType.BOOLEAN: "Boolean",
    DataType.DATE: "Date",
    DataType.TIMESTAMP: "DateTime",
    DataType.BINARY: "LargeBinary",
}

_START = '''\
"""Tables and the joins that repeat none of their rows."""

import sqlalchemy as sa

metadata = sa.MetaData()
'''

_REFLECT = '''

def reflect(engine: sa.Engine) -> None:
    """Add the other columns of all tables from a database."""
    for table in list(metadata.tables.values()):
        sa.Table(
            table.name,
            metadata,
            schema=table.schema,
            autoload_with=engine,
            autoload_replace=False,
            extend_existing=True,
            resolve_fks=False,
        )


def joins() -> dict[str, sa.Join]:
    """Return each join by its name; it keeps the rows of its first table without a match."""
'''


def to_sqlalchemy(schema: JoinSchema) -> str:
    """Write a Python module with SQLAlchemy tables, foreign keys and joins."""
    tables = [line for table in schema.tables for line in _table(table)]
    keys = [line for join in schema.joins for line in _foreign_key(join)]
    aliases = [_alias(join) for join in schema.joins if join.needs_role]
    joins = [line for join in schema.joins for line in _join(join)]
    body = "\n".join([*aliases, "    return {", *joins, "    }"])
    return f"{_START}{_lines([*tables, *keys])}{_REFLECT}{body}\n"


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _variable(name: str) -> str:
    reserved = keyword.iskeyword(name) or name in {"metadata", "reflect", "joins", "sa"}
    return f"{name}_" if reserved else name


def _text(text: str) -> str:
    # Python reads all escapes of JSON, and those that make characters visible.
    return visible(json.dumps(text, ensure_ascii=False))


def _texts(texts: Iterable[str]) -> str:
    return ", ".join(map(_text, texts))


def _table(table: ExportedTable) -> Iterator[str]:
    yield f"{_variable(table.name)} = sa.Table("
    yield f"    {_text(table.path[-1])},"
    yield "    metadata,"
    for path, kind in table.columns.items():
        written = f", sa.{_TYPES[kind]}" if kind in _TYPES else ""
        yield f"    sa.Column({_text(path)}{written}),"
    if table.primary_key:
        yield f"    sa.PrimaryKeyConstraint({_texts(table.primary_key)}),"
    yield from (f"    sa.UniqueConstraint({_texts(key)})," for key in table.unique_keys)
    if len(table.path) > 1:  # the URL of the engine names the database
        yield f"    schema={_text(table.path[-2])},"
    yield ")"


def _foreign_key(named: NamedJoin) -> Iterator[str]:
    table = _variable(named.referenced.name)
    columns = ", ".join(f"{table}.c[{_text(path)}]" for path in named.join.referenced_columns)
    yield f"{_variable(named.referring.name)}.append_constraint("
    yield "    sa.ForeignKeyConstraint("
    yield f"        [{_texts(named.join.referring_columns)}],"
    yield f"        [{columns}],"
    yield f"        name={_text(named.name)},"
    yield "    )"
    yield ")"


def _alias(named: NamedJoin) -> str:
    table = _variable(named.referenced.name)
    return f"    {_variable(named.alias)} = {table}.alias({_text(named.alias)})"


def _join(named: NamedJoin) -> Iterator[str]:
    left, right = _variable(named.referring.name), _variable(named.alias)
    yield f"        # {describe_evidence(named.join)}"
    yield f"        {_text(named.name)}: {left}.outerjoin("
    yield f"            {right},"
    yield "            sa.and_("
    for referring, referenced in named.join.columns:
        yield f"                {left}.c[{_text(referring)}] == {right}.c[{_text(referenced)}],"
    yield "            ),"
    yield "        ),"
