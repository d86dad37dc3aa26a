"""Read Django fixtures, and the foreign keys that the repository's models declare."""

import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import yaml

from benchmarks.school.database import Database, Reference
from benchmarks.school.repository import Repository
from benchmarks.school.sql import decoded
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_SINGLE = {"ForeignKey", "OneToOneField", "ParentalKey"}
_MANY = {"ManyToManyField", "ParentalManyToManyField"}


@dataclass
class Model:
    """The base classes and fields of a Django model, and the models that they refer to."""

    table: str
    abstract: bool
    bases: list[str]
    columns: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)


def read_django(repository: Repository, patterns: str) -> Database:
    """Read fixtures into a database with the foreign keys that the models declare.

    Args:
        repository: The repository.
        patterns: Patterns of the fixtures (JSON or YAML) and of the models (`.py`).

    Raises:
        UnreadableSourceError: No file matches.
    """
    paths = repository.matching(patterns)
    code = (path for path in paths if path.endswith(".py"))
    models = dict(models_of((path, decoded(repository.read(path))) for path in code))
    rows: dict[str, list[dict[str, object]]] = defaultdict(list)
    for path in (path for path in paths if not path.endswith(".py")):
        for row in _fixture(repository.read(path) or b"[]", path):
            rows[row["model"].lower()].append({"id": row.get("pk"), **row["fields"]})
    known = {label.rpartition(".")[2]: label.replace(".", "_") for label in sorted(rows)}
    tables: dict[str, pd.DataFrame] = {}
    references: list[Reference] = []
    for label, found in sorted(rows.items()):
        read, named = _read_model(label, pd.DataFrame(found), models, known)
        tables |= read
        references += named
    return Database(
        repository.source, tables, tuple(sorted(set(references)))
    ).without_dangling_references()


def _fixture(content: bytes, path: str) -> Iterable[dict[str, Any]]:
    """Return the rows of a fixture; none, if the file is no fixture."""
    read = json.loads(content) if path.endswith(".json") else yaml.load(content, yaml.CSafeLoader)
    return [row for row in read if isinstance(row, dict) and {"model", "fields"} <= {*row}]


def _read_model(
    label: str, frame: pd.DataFrame, models: dict[str, Model], known: dict[str, str]
) -> tuple[dict[str, pd.DataFrame], list[Reference]]:
    """Return the tables and references that one model declares.

    A field that lists keys becomes a table of links.
    """
    name, short = label.replace(".", "_"), label.rpartition(".")[2]
    _, keys, lists, parents = declared(short, models)
    key = ColumnName(name, "id")
    tables: dict[str, pd.DataFrame] = {}
    references = [Reference(key, _key(one, known)) for one in parents if one in known]
    for column in (column for column in lists if column in frame):
        links = _links(frame, column, short)
        linked = f"{name}_{column}"
        tables[linked] = links
        references.append(Reference(ColumnName(linked, str(links.columns[0])), key))
        target = _key(lists[column], known)
        references.append(Reference(ColumnName(linked, str(links.columns[1])), target))
    single = {column: f"{column}_id" for column in keys if column in frame}
    references += [
        Reference(ColumnName(name, new), _key(keys[old], known)) for old, new in single.items()
    ]
    plain = [column for column in frame if not frame[column].map(_is_nested).any()]
    tables[name] = frame[plain].map(_text).rename(columns=single)
    return tables, references


def models_of(code: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Model]]:
    """Yield each class of some files with its name in lower case, whether it is a model or not.

    Args:
        code: Path and content of each file.
    """
    for path, text in code:
        app = path.partition("/models")[0].rpartition("/")[2]
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.ClassDef):
                yield node.name.lower(), _model(node, app)


def parsed(text: str) -> ast.AST:
    """Parse Python, or return an empty module if it is for a newer or older version of Python."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _model(node: ast.ClassDef, app: str) -> Model:
    bases = [ast.unparse(base).rpartition(".")[2].lower() for base in node.bases]
    model = Model(f"{app}_{node.name.lower()}", "abstract = True" in ast.unparse(node), bases)
    for line in node.body:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                kind = ast.unparse(call.func).rpartition(".")[2]
                if kind in _SINGLE or (kind.endswith("Field") and kind not in _MANY):
                    model.columns.append(name)
                if kind in _SINGLE:
                    model.keys[name] = _target(call, node.name)
                elif kind in _MANY:
                    model.lists[name] = _target(call, node.name)
            case _:
                continue
    return model


def _target(call: ast.Call, own: str) -> str:
    """Return the name of the model that a field refers to."""
    named = [one.value for one in call.keywords if one.arg == "to"]
    target = ast.unparse((call.args or named)[0]).strip("'\"").rpartition(".")[2].lower()
    return own.lower() if target == "self" else target


def declared(
    name: str, models: dict[str, Model]
) -> tuple[list[str], dict[str, str], dict[str, str], list[str]]:
    """Return a model's columns, foreign keys, many-to-many fields and base classes.

    Inherited ones are included.

    Args:
        name: Name of the model in lower case.
        models: All models.
    """
    columns: list[str] = []
    keys: dict[str, str] = {}
    lists: dict[str, str] = {}
    waiting, seen = [name], set[str]()
    while waiting:
        one = waiting.pop()
        if one in models and one not in seen:
            seen.add(one)
            columns += models[one].columns
            keys |= models[one].keys
            lists |= models[one].lists
            waiting += models[one].bases
    return columns, keys, lists, sorted(seen - {name})


def _key(target: str, known: dict[str, str]) -> ColumnName:
    return ColumnName(known.get(target, target), "id")


def _links(frame: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """Return a table with one row for each key that a many-to-many field lists."""
    listed = frame[["id", column]].explode(column).dropna()
    owner = f"{name}_id"
    linked = f"{column.rstrip('s')}_id"
    both = [owner, linked if linked != owner else f"to_{linked}"]
    return listed.map(_text).set_axis(both, axis=1).reset_index(drop=True)


def _is_nested(cell: object) -> bool:
    return isinstance(cell, (list, dict))


def _text(cell: str | float | None) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # pandas makes floats of integers if a cell is missing
    return "" if pd.isna(cell) else str(cell).strip()
