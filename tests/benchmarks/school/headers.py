"""Read schemas of applications whose rows are not public: SQL, Rails, Prisma and models in code."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from benchmarks.school.database import Database, Reference
from benchmarks.school.models import read_models, schema_of
from benchmarks.school.repository import Repository
from benchmarks.school.sql import database_of, decoded
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_RAILS_TABLE = re.compile(
    r"^ *create_table[ (]+[\"':](?P<name>\w+)[\"']?(?P<options>[^\n]*?)\bdo *\|t\|"
    r"(?P<body>.*?)^ *end",
    re.DOTALL | re.MULTILINE,
)
_RAILS_COLUMN = re.compile(r"^ *t\.(?P<type>\w+)[ (]+[\"':](?P<name>\w+)", re.MULTILINE)
_RAILS_KEY = re.compile(
    r"add_foreign_key[ (]+[\"':](?P<own>\w+)[\"']?, *[\"':](?P<other>\w+)(?P<options>[^\n]*)"
)
_NO_COLUMNS = {"index", "check_constraint", "foreign_key", "unique_constraint"}

_PRISMA_MODEL = re.compile(r"^model\s+(?P<name>\w+)\s*\{(?P<body>.*?)^\}", re.DOTALL | re.MULTILINE)
_PRISMA_FIELD = re.compile(r"^\s*(?P<name>\w+)\s+(?P<type>\w+)(?P<rest>[^\n]*)", re.MULTILINE)
_PRISMA_KEY = re.compile(
    r"@relation\(.*?fields:\s*\[(?P<own>\w+)\],\s*references:\s*\[(?P<other>\w+)\]"
)


def read_headers(repository: Repository, patterns: str) -> Database:
    """Read a schema in SQL, Ruby (`schema.rb`), Prisma, Python or PHP, with one blank row a table.

    Args:
        repository: The repository.
        patterns: Patterns of their paths, separated by spaces; all are of one language.

    Raises:
        UnreadableSourceError: No file matches.
    """
    paths = repository.matching(patterns)
    texts = [decoded(repository.read(path)) for path in paths]
    if paths[0].endswith(".rb"):
        database = _read_rails(repository.source, "\n".join(texts))
    elif paths[0].endswith(".prisma"):
        database = _read_prisma(repository.source, "\n".join(texts))
    elif paths[0].endswith((".py", ".php")):
        database = read_models(repository.source, dict(zip(paths, texts, strict=True)))
    else:
        database = database_of(repository.source, texts)
    tables = {
        table: pd.DataFrame([[""] * frame.shape[1]], columns=frame.columns, dtype=str)
        for table, frame in database.tables.items()
    }
    return replace(database, tables=tables, invented=True)


def _read_rails(name: str, text: str) -> Database:
    tables: dict[str, list[str]] = {}
    for match in _RAILS_TABLE.finditer(text):
        key = _option(match["options"], "primary_key") or "id"
        columns = [] if "id: false" in match["options"] else [key]
        for column in _RAILS_COLUMN.finditer(match["body"]):
            if column["type"] not in _NO_COLUMNS:
                linked = column["type"] in {"references", "belongs_to"}
                columns.append(f"{column['name']}_id" if linked else column["name"])
        tables[match["name"]] = columns
    return schema_of(name, tables, _rails_keys(text, tables))


def _rails_keys(text: str, tables: Mapping[str, list[str]]) -> Iterator[Reference]:
    for match in _RAILS_KEY.finditer(text):
        own, other, options = match["own"], match["other"], match["options"]
        column = _option(options, "column") or next(
            (one for one in _foreign_names(other) if one in tables.get(own, ())), ""
        )
        key = _option(options, "primary_key") or next(iter(tables.get(other, ())), "id")
        yield Reference(ColumnName(own, column), ColumnName(other, key))


def _option(options: str, name: str) -> str | None:
    found = re.search(rf"\b{name}: *[\"':](\w+)", options)
    return found[1] if found else None


def _foreign_names(table: str) -> Iterator[str]:
    """Yield the names that Rails may give to a column that refers to a table.

    >>> [*_foreign_names("categories")]
    ['category_id', 'categorie_id', 'categori_id', 'categories_id']
    """
    yield from (f"{name}_id" for name in singulars(table))


def singulars(table: str) -> Iterator[str]:
    """Yield the names that one row of a table may have.

    >>> [*singulars("categories")]
    ['category', 'categorie', 'categori', 'categories']
    """
    for plural, singular in (("ies", "y"), ("people", "person"), ("s", ""), ("es", ""), ("", "")):
        if table.endswith(plural):
            yield f"{table.removesuffix(plural)}{singular}"


def _read_prisma(name: str, text: str) -> Database:
    text = re.sub(r"//[^\n]*", "", text)
    models = {match["name"]: match["body"] for match in _PRISMA_MODEL.finditer(text)}
    tables: dict[str, list[str]] = {}
    keys: list[Reference] = []
    for model, body in models.items():
        fields = [*_PRISMA_FIELD.finditer(body)]
        tables[_mapped(body, model, "@@map")] = [
            _column(body, field["name"]) for field in fields if field["type"] not in models
        ]
        for field in fields:
            key = _PRISMA_KEY.search(field["rest"])
            other = models.get(field["type"])
            if key and other is not None:
                origin = ColumnName(_mapped(body, model, "@@map"), _column(body, key["own"]))
                table = _mapped(other, field["type"], "@@map")
                keys.append(Reference(origin, ColumnName(table, _column(other, key["other"]))))
    return schema_of(name, tables, keys)


def _mapped(text: str, name: str, attribute: str) -> str:
    found = re.search(rf"(?<!@){attribute}\(\s*(?:name:\s*)?\"([^\"]+)\"", text)
    return found[1] if found else name


def _column(body: str, name: str) -> str:
    """Return the name of a field's column in the database."""
    line = re.search(rf"^\s*{name}\s+\w[^\n]*", body, re.MULTILINE)
    return _mapped(line[0], name, "@map") if line else name
