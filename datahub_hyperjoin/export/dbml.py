"""Export joins as DBML, the language of dbdiagram.io."""

from collections.abc import Iterable, Iterator

from datahub_hyperjoin.export.evidence import describe_evidence
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, KeyColumns, NamedJoin
from datahub_hyperjoin.visible import visible


def to_dbml(schema: JoinSchema) -> str:
    """Write the tables and joins as DBML."""
    tables = ["\n".join(_table(table)) for table in schema.tables]
    return "\n".join([*tables, *map(_reference, schema.joins)])


def _table(table: ExportedTable) -> Iterator[str]:
    yield f"Table {_quoted(table.name)} {{"
    for path, kind in table.columns.items():
        settings = {(path,) == table.primary_key: "pk", (path,) in table.unique_keys: "unique"}
        mark = f" [{settings[True]}]" if True in settings else ""
        yield f"  {_quoted(path)} {kind.value if kind else 'unknown'}{mark}"
    yield from _indexes(table)
    yield f"  Note: {_text(visible(table.id.name))}"
    yield "}\n"


def _indexes(table: ExportedTable) -> Iterator[str]:
    keys = [(table.primary_key, "pk"), *((key, "unique") for key in table.unique_keys)]
    composite = [(key, mark) for key, mark in keys if len(key) > 1]
    if composite:
        yield "  indexes {"
        yield from (f"    {_columns(key)} [{mark}]" for key, mark in composite)
        yield "  }"


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


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
