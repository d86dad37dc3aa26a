"""Read databases in the Cross-Linguistic Data Formats (CSV files with JSON metadata)."""

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from benchmarks.school.database import EXTERNAL, Database, Reference
from benchmarks.school.errors import UnreadableSourceError
from benchmarks.school.repository import Repository
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_DROPPED = re.compile(r"glottocode|glottolog|iso639|#bibtex|#latitude|#longitude", re.IGNORECASE)
"""Columns that are not read: coordinates, citations, and code systems that occur in benchmarks."""

_CONCEPTS = "concepticonReference"
"""CLDF property of columns with Concepticon IDs, which mean the same in all databases."""


def read_cldf(repository: Repository, patterns: str) -> Database:
    """Read the datasets of a repository, and return the one with the most references.

    A column whose cells list several keys becomes a table of its own, as in a relational database.

    Args:
        repository: The repository.
        patterns: Patterns of the files of metadata.

    Raises:
        UnreadableSourceError: The repository has no dataset with a declared reference.
    """
    read = [_read_dataset(repository, path) for path in repository.matching(patterns)]
    best = max(read, key=lambda database: (len(database.references), len(database.tables)))
    if not best.references:
        raise UnreadableSourceError.without_references(repository.source)
    return best


def _read_dataset(repository: Repository, path: str) -> Database:
    metadata = json.loads(repository.read(path) or b"{}")
    folder = PurePosixPath(path).parent
    tables: dict[str, pd.DataFrame] = {}
    references: list[Reference] = []
    for described in metadata.get("tables", ()):
        frame = _read_rows(repository, str(folder / described["url"]))
        if frame is None or frame.empty:
            continue
        name = _table_name(described["url"])
        lists = _lists(described)
        for one in _references(described, name):
            separator = lists.get(one.origin.column)
            if separator and one.origin.column in frame.columns:
                references += _add_list(tables, frame, one, separator)
            else:
                references.append(one)
        dropped = [column for column in frame.columns if column in _dropped(described) | {*lists}]
        tables[name] = frame.drop(columns=dropped)
    database = Database(repository.source, tables, tuple(references), standard=True)
    return database.without_dangling_references()


def _read_rows(repository: Repository, path: str) -> pd.DataFrame | None:
    content = repository.read(path)
    if content is None and (zipped := repository.read(f"{path}.zip")):
        with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
            content = archive.read(archive.namelist()[0])
    if not content:
        return None
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)


def _table_name(url: str) -> str:
    return PurePosixPath(url).name.removesuffix(".zip").removesuffix(".csv")


def _columns(described: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from described["tableSchema"].get("columns", ())


def _lists(described: Mapping[str, Any]) -> dict[str, str]:
    return {
        column["name"]: column["separator"]
        for column in _columns(described)
        if column.get("separator")
    }


def _dropped(described: Mapping[str, Any]) -> set[str]:
    return {
        column["name"]
        for column in _columns(described)
        if _DROPPED.search(column["name"]) or _DROPPED.search(column.get("propertyUrl", ""))
    }


def _references(described: Mapping[str, Any], name: str) -> Iterator[Reference]:
    for key in described["tableSchema"].get("foreignKeys", ()):
        target = key["reference"]
        if len(key["columnReference"]) == len(target["columnReference"]) == 1:
            yield Reference(
                ColumnName(name, key["columnReference"][0]),
                ColumnName(_table_name(target["resource"]), target["columnReference"][0]),
            )
    for column in _columns(described):
        if column.get("propertyUrl", "").endswith(_CONCEPTS):
            concepts = ColumnName(f"{EXTERNAL}concepticon", "ID")
            yield Reference(ColumnName(name, column["name"]), concepts)


def _add_list(
    tables: dict[str, pd.DataFrame],
    frame: pd.DataFrame,
    reference: Reference,
    separator: str,
) -> tuple[Reference, Reference]:
    """Add a table of links for a column whose cells list several keys."""
    origin, column = reference.origin
    key = str(frame.columns[0])
    links = frame[[key, column]].assign(**{column: frame[column].str.split(separator)})
    links = links.explode(column)
    links[column] = links[column].str.strip()
    links = links[links[column] != ""].reset_index(drop=True)
    name = f"{origin}_{column}"
    owner = f"{origin}_{key}"
    tables[name] = links.rename(columns={key: owner})
    return (
        Reference(ColumnName(name, owner), ColumnName(origin, key)),
        Reference(ColumnName(name, column), reference.target),
    )
