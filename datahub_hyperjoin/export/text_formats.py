"""Export joins as LookML, DBML, Mermaid and Python."""

import json
import keyword
from collections.abc import Iterable, Iterator
from itertools import chain

from datahub_hyperjoin.export.names import (
    dialect_of,
    quoted_name,
    quoted_path,
)
from datahub_hyperjoin.export.schema import (
    ExportedTable,
    JoinSchema,
    KeyColumns,
    NamedJoin,
    type_names,
)
from datahub_hyperjoin.joins.semantic_layers import describe_evidence
from datahub_hyperjoin.visible import visible


def to_lookml(schema: JoinSchema) -> str:
    """Write the tables as LookML `view` blocks, and the joins as `explore` blocks."""
    # Each table that refers to others is an explore with a join for each reference.
    views = ["\n".join(_view(table)) for table in schema.tables]
    explores = [
        "\n".join([f"explore: {table.name} {{", *_flat(map(_lookml_join, joins)), "}\n"])
        for table in schema.tables
        if (joins := schema.joins_from(table))
    ]
    return "\n".join([*views, *explores])


_flat = chain.from_iterable


def _view(table: ExportedTable) -> Iterator[str]:
    dialect, names = dialect_of(table.id), table.column_names
    yield f"view: {table.name} {{"
    yield f"  sql_table_name: {quoted_path(table.path, dialect)} ;;"
    for path, kind in table.columns.items():
        yield f"  dimension: {names[path]} {{"
        if table.primary_key == (path,):
            yield "    primary_key: yes"
        yield f"    type: {type_names(kind).lookml}"
        yield f"    sql: ${{TABLE}}.{quoted_name(path, dialect)} ;;"
        yield "  }"
    yield "}\n"


def _lookml_join(named: NamedJoin) -> Iterator[str]:
    yield f"  # {describe_evidence(named.join)}"
    yield f"  join: {named.alias} {{"
    if named.needs_role:
        yield f"    from: {named.referenced.name}"
    yield "    type: left_outer"
    yield f"    relationship: {named.join.kind}"
    yield f"    sql_on: {_condition(named)} ;;"
    yield "  }"


def _condition(named: NamedJoin) -> str:
    left, right = named.referring.column_names, named.referenced.column_names
    return " AND ".join(
        f"${{{named.referring.name}.{left[referring]}}} = ${{{named.alias}.{right[referenced]}}}"
        for referring, referenced in named.join.columns
    )


def to_dbml(schema: JoinSchema) -> str:
    """Write the tables and joins as DBML."""
    tables = ["\n".join(_dbml_table(table)) for table in schema.tables]
    return "\n".join([*tables, *map(_reference, schema.joins)])


def _dbml_table(table: ExportedTable) -> Iterator[str]:
    yield f"Table {_quoted(table.name)} {{"
    for path, kind in table.columns.items():
        settings = {(path,) == table.primary_key: "pk", (path,) in table.unique_keys: "unique"}
        mark = f" [{settings[True]}]" if True in settings else ""
        yield f"  {_quoted(path)} {kind.value if kind else 'unknown'}{mark}"
    composite = [(key, mark) for key, mark in table.keys("pk", "unique") if len(key) > 1]
    if composite:
        yield "  indexes {"
        yield from (f"    {_columns(key)} [{mark}]" for key, mark in composite)
        yield "  }"
    yield f"  Note: {_dbml_text(visible(table.id.name))}"
    yield "}\n"


def _reference(named: NamedJoin) -> str:
    sign = "-" if named.join.is_one_to_one else ">"
    left = _side(named.referring, named.join.referring_columns)
    right = _side(named.referenced, named.join.referenced_columns)
    return f"// {describe_evidence(named.join)}\nRef {_quoted(named.name)}: {left} {sign} {right}\n"


def _side(table: ExportedTable, columns: KeyColumns) -> str:
    written = _quoted(columns[0]) if len(columns) == 1 else _columns(columns)
    return f"{_quoted(table.name)}.{written}"


def _columns(columns: Iterable[str]) -> str:
    return f"({', '.join(map(_quoted, columns))})"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _dbml_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# GitHub and DataHub's documentation show such diagrams.

_ENTITIES = str.maketrans(
    {'"': "#quot;", "#": "#35;", "%": "#37;", "<": "#lt;", ">": "#gt;", "\\": "#92;"}
)
"""Quotes end a text, `%%{` begins a directive, browsers read HTML, and backslashes begin the
escapes of characters that are not seen."""


def to_mermaid(schema: JoinSchema) -> str:
    """Write the tables and joins as a Mermaid entity relationship diagram."""
    entities = _flat(_entity(schema, table) for table in schema.tables)
    return _lines(["erDiagram", *entities, *map(_relationship, schema.joins)])


def _entity(schema: JoinSchema, table: ExportedTable) -> Iterator[str]:
    referring = {path for join in schema.joins_from(table) for path in join.join.referring_columns}
    unique = {path for key in table.unique_keys for path in key if len(key) == 1}
    names = table.column_names
    yield f"    {table.name} {{"
    for path, kind in table.columns.items():
        name = names[path]
        roles = {"PK": table.primary_key, "FK": referring, "UK": unique}
        keys = ", ".join(key for key, columns in roles.items() if path in columns)
        comment = "" if name == path else f'"{_plain(path)}"'
        words = [kind.value if kind else "unknown", name, keys, comment]
        yield "        " + " ".join(filter(None, words))
    yield "    }"


def _relationship(named: NamedJoin) -> str:
    left = "|o" if named.join.is_one_to_one else "}o"
    right = "||" if named.join.keeps_rows else "o|"
    condition = " and ".join(map(" = ".join, named.join.columns))
    start, end = named.referring.name, named.referenced.name
    return f'    {start} {left}--{right} {end} : "{_plain(condition)}"'


def _plain(text: str) -> str:
    """Write the characters that would end a quoted text or change its meaning as entities."""
    return visible(text.translate(_ENTITIES))


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
    tables, keys = map(_alchemy_table, schema.tables), map(_foreign_key, schema.joins)
    aliases = [_alias(join) for join in schema.joins if join.needs_role]
    body = [*aliases, "    return {", *_flat(map(_alchemy_join, schema.joins)), "    }"]
    return f"{_START}{_lines(_flat([*tables, *keys]))}{_REFLECT}{_lines(body)}"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _variable(name: str) -> str:
    reserved = keyword.iskeyword(name) or name in {"metadata", "reflect", "joins", "sa"}
    return f"{name}_" if reserved else name


def _quote(text: str) -> str:
    # Python reads all escapes of JSON, and those that make characters visible.
    return visible(json.dumps(text, ensure_ascii=False))


def _texts(texts: Iterable[str]) -> str:
    return ", ".join(map(_quote, texts))


def _alchemy_table(table: ExportedTable) -> Iterator[str]:
    yield f"{_variable(table.name)} = sa.Table("
    yield f"    {_quote(table.path[-1])},"
    yield "    metadata,"
    for path, kind in table.columns.items():
        written = type_names(kind).sqlalchemy
        yield f"    sa.Column({_quote(path)}{f', sa.{written}' if written else ''}),"
    if table.primary_key:
        yield f"    sa.PrimaryKeyConstraint({_texts(table.primary_key)}),"
    yield from (f"    sa.UniqueConstraint({_texts(key)})," for key in table.unique_keys)
    if len(table.path) > 1:  # the URL of the engine names the database
        yield f"    schema={_quote(table.path[-2])},"
    yield ")"


def _foreign_key(named: NamedJoin) -> Iterator[str]:
    table = _variable(named.referenced.name)
    columns = ", ".join(f"{table}.c[{_quote(path)}]" for path in named.join.referenced_columns)
    yield f"{_variable(named.referring.name)}.append_constraint("
    yield "    sa.ForeignKeyConstraint("
    yield f"        [{_texts(named.join.referring_columns)}],"
    yield f"        [{columns}],"
    yield f"        name={_quote(named.name)},"
    yield "    )"
    yield ")"


def _alias(named: NamedJoin) -> str:
    table = _variable(named.referenced.name)
    return f"    {_variable(named.alias)} = {table}.alias({_quote(named.alias)})"


def _alchemy_join(named: NamedJoin) -> Iterator[str]:
    left, right = _variable(named.referring.name), _variable(named.alias)
    yield f"        # {describe_evidence(named.join)}"
    yield f"        {_quote(named.name)}: {left}.outerjoin("
    yield f"            {right},"
    yield "            sa.and_("
    for referring, referenced in named.join.columns:
        yield f"                {left}.c[{_quote(referring)}] == {right}.c[{_quote(referenced)}],"
    yield "            ),"
    yield "        ),"
