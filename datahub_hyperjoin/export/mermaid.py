"""Export joins as a Mermaid diagram.

GitHub and DataHub's documentation show such diagrams.
"""

from collections.abc import Iterator

from datahub_hyperjoin.export.names import distinct_names, identifier
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, NamedJoin
from datahub_hyperjoin.visible import visible

_ENTITIES = str.maketrans(
    {'"': "#quot;", "#": "#35;", "%": "#37;", "<": "#lt;", ">": "#gt;", "\\": "#92;"}
)
"""Quotes end a text, `%%{` begins a directive, browsers read HTML, and backslashes begin the
escapes of characters that are not seen."""


def to_mermaid(schema: JoinSchema) -> str:
    """Write the tables and joins as a Mermaid entity relationship diagram."""
    lines = [
        "erDiagram",
        *(line for table in schema.tables for line in _entity(schema, table)),
        *map(_relationship, schema.joins),
    ]
    return "\n".join(lines) + "\n"


def _entity(schema: JoinSchema, table: ExportedTable) -> Iterator[str]:
    referring = {path for join in schema.joins_from(table) for path in join.join.referring_columns}
    unique = {path for key in table.unique_keys for path in key if len(key) == 1}
    names = distinct_names([[identifier(path)] for path in table.columns])
    yield f"    {table.name} {{"
    for name, (path, kind) in zip(names, table.columns.items(), strict=True):
        roles = {"PK": table.primary_key, "FK": referring, "UK": unique}
        keys = ", ".join(key for key, columns in roles.items() if path in columns)
        comment = "" if name == path else f'"{_plain(path)}"'
        words = [kind.value if kind else "unknown", name, keys, comment]
        yield "        " + " ".join(filter(None, words))
    yield "    }"


def _relationship(named: NamedJoin) -> str:
    left = "|o" if named.join.is_one_to_one else "}o"
    right = "||" if named.join.keeps_rows else "o|"
    condition = " and ".join(
        f"{referring} = {referenced}" for referring, referenced in named.join.columns
    )
    start, end = named.referring.name, named.referenced.name
    return f'    {start} {left}--{right} {end} : "{_plain(condition)}"'


def _plain(text: str) -> str:
    """Write the characters that would end a quoted text or change its meaning as entities."""
    return visible(text.translate(_ENTITIES))
