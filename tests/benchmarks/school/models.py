"""Read schemas of applications from their code: Django, SQLAlchemy and Laravel."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pandas as pd

from benchmarks.school.database import Database, Reference
from benchmarks.school.django import declared, models_of, parsed
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

Schema = tuple[dict[str, list[str]], list[Reference]]
"""The columns of each table, and the references."""

_COLUMN = {"Column", "mapped_column"}

_LARAVEL_TABLE = re.compile(
    r"Schema::(?:create|table)\(\s*['\"](?P<name>\w+)['\"](?P<body>.*?)\n\s*\}\s*\);", re.DOTALL
)
_LARAVEL_CALL = re.compile(
    r"\$table->(?P<type>\w+)\(\s*(?:['\"](?P<name>\w+)['\"])?(?P<rest>[^;]*);"
)
_LARAVEL_IDS = {"id", "increments", "bigIncrements"}
_LARAVEL_TIMES = {"timestamps", "timestampsTz", "nullableTimestamps"}
_NO_COLUMNS = {"index", "unique", "primary", "fullText", "spatialIndex", "comment", "engine"}


def read_models(name: str, texts: Mapping[str, str]) -> Database:
    """Read the schema that the models or migrations of an application declare; it has no rows.

    Args:
        name: Name of the database.
        texts: The content of each file: Python, or the PHP of Laravel's migrations.
    """
    if any(path.endswith(".php") for path in texts):
        tables, keys = _laravel(texts.values())
    elif any("sqlalchemy" in text for text in texts.values()):
        tables, keys = _sqlalchemy(texts.values())
    else:
        tables, keys = _django(texts)
    return schema_of(name, tables, keys)


def schema_of(
    name: str, tables: Mapping[str, Iterable[str]], keys: Iterable[Reference]
) -> Database:
    """Return a database without rows, with the references whose columns it has."""
    frames = {
        table: pd.DataFrame(columns=[*dict.fromkeys(columns)], dtype=str)
        for table, columns in tables.items()
    }
    database = Database(name, frames, ())
    known = {one for one in keys if database.has(one.origin) and database.has(one.target)}
    return replace(database, references=tuple(sorted(known)))


def _django(texts: Mapping[str, str]) -> Schema:
    models = dict(models_of(texts.items()))
    names = {name: model.table for name, model in models.items() if not model.abstract}
    tables: dict[str, list[str]] = {}
    keys: list[Reference] = []
    for short, table in names.items():
        columns, single, lists = declared(short, models)[:3]
        if not columns:
            continue
        tables[table] = ["id", *(f"{one}_id" if one in single else one for one in columns)]
        keys += [
            Reference(ColumnName(table, f"{one}_id"), ColumnName(names.get(to, ""), "id"))
            for one, to in single.items()
        ]
        for one, to in lists.items():
            linked, own, other = f"{table}_{one}", f"{short}_id", f"{to}_id"
            tables[linked] = ["id", own, other if other != own else f"to_{other}"]
            keys.append(Reference(ColumnName(linked, own), ColumnName(table, "id")))
            target = ColumnName(names.get(to, ""), "id")
            keys.append(Reference(ColumnName(linked, tables[linked][2]), target))
    return tables, keys


def _sqlalchemy(texts: Iterable[str]) -> Schema:
    tables: dict[str, list[str]] = {}
    keys: list[Reference] = []
    for node in (node for text in texts for node in ast.walk(parsed(text))):
        found = _mapped_class(node) if isinstance(node, ast.ClassDef) else _core_table(node)
        if not found:
            continue
        table, columns = found
        tables[table] = [name for name, _ in columns]
        for name, call in columns:
            for to in _foreign_keys(call):
                target, _, key = to.rpartition(".")
                own = ColumnName(table, name)
                keys.append(Reference(own, ColumnName(target.rpartition(".")[2], key)))
    for named in {one.target for one in keys if one.target.table in tables}:
        if named.column not in tables[named.table]:
            tables[named.table].insert(0, named.column)  # a base class of the model has it
    return tables, keys


def _mapped_class(node: ast.ClassDef) -> tuple[str, list[tuple[str, ast.Call]]] | None:
    table, columns = None, []
    for line in node.body:
        match line:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if name == "__tablename__" and isinstance(value, ast.Constant):
                    table = str(value.value)
                elif isinstance(value, ast.Call) and _called(value) in _COLUMN:
                    columns.append((_first_text(value) or name, value))
            case _:
                continue
    return (table, columns) if table and columns else None


def _core_table(node: ast.AST) -> tuple[str, list[tuple[str, ast.Call]]] | None:
    if not isinstance(node, ast.Call) or _called(node) != "Table":
        return None
    table = _first_text(node)
    columns = [
        (name, one)
        for one in node.args
        if isinstance(one, ast.Call) and _called(one) in _COLUMN and (name := _first_text(one))
    ]
    return (table, columns) if table and columns else None


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _first_text(call: ast.Call) -> str | None:
    match call.args[:1]:
        case [ast.Constant(value=str(text))]:
            return text
        case _:
            return None


def _foreign_keys(column: ast.Call) -> Iterator[str]:
    for node in ast.walk(column):
        if isinstance(node, ast.Call) and _called(node) == "ForeignKey":
            yield _first_text(node) or ""


def _laravel(texts: Iterable[str]) -> Schema:
    tables: dict[str, list[str]] = {}
    keys: list[Reference] = []
    for match in (match for text in texts for match in _LARAVEL_TABLE.finditer(text)):
        columns = tables.setdefault(match["name"], [])
        for call in _LARAVEL_CALL.finditer(match["body"]):
            kind, name = call["type"], call["name"]
            if kind in _LARAVEL_TIMES:
                columns += ["created_at", "updated_at"]
            elif kind in _LARAVEL_IDS or name:
                name = name or "id"
                keys += _laravel_key(match["name"], name, call["rest"])
                if kind not in _NO_COLUMNS | {"foreign"} and not kind.startswith(
                    ("drop", "rename")
                ):
                    columns.append(name)
    return tables, keys


def _laravel_key(table: str, column: str, rest: str) -> Iterator[Reference]:
    on = re.search(r"->on\(\s*['\"](\w+)", rest) or re.search(r"constrained\(\s*['\"](\w+)", rest)
    named = re.search(r"->references\(\s*['\"](\w+)", rest)
    if on:
        yield Reference(ColumnName(table, column), ColumnName(on[1], named[1] if named else "id"))
    elif "->constrained()" in rest:
        stem = column.removesuffix("_id")
        for plural in (f"{stem}s", f"{stem}es", f"{stem.removesuffix('y')}ies"):
            yield Reference(ColumnName(table, column), ColumnName(plural, "id"))
