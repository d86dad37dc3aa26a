"""Read data packages: CSV files whose `datapackage.json` declares keys between them."""

import io
import json
import os.path
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from benchmarks.school.database import Database, Reference
from benchmarks.school.repository import Repository
from benchmarks.school.sql import decoded
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName


def read_package(repository: Repository, path: str) -> Database:
    """Read the resources of a data package, except those that are too large or broken.

    Args:
        repository: The repository.
        path: Path or pattern of its `datapackage.json`.

    Raises:
        UnreadableSourceError: No file matches.
    """
    path = repository.matching(path)[0]
    folder = PurePosixPath(path).parent
    tables: dict[str, pd.DataFrame] = {}
    references: list[Reference] = []
    for resource in _json(repository, path).get("resources", ()):
        frame = _read_rows(repository, folder, resource)
        schema = resource.get("schema", {})
        if isinstance(schema, str):
            schema = _json(repository, str(folder / schema))
        if frame is not None:
            tables[resource["name"]] = frame
            references += _references(resource["name"], schema)
    database = Database(repository.source, tables, tuple(sorted(set(references))))
    return database.without_dangling_references()


def _json(repository: Repository, path: str) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(decoded(repository.read(path)) or "{}")
    except ValueError:
        return {}
    return read


def _read_rows(
    repository: Repository, folder: PurePosixPath, resource: Mapping[str, Any]
) -> pd.DataFrame | None:
    paths = resource.get("path") or ()
    delimiter = resource.get("dialect", {}).get("delimiter", ",")
    parts = []
    for path in [paths] if isinstance(paths, str) else paths:
        text = decoded(repository.read(os.path.normpath(folder / path)))
        try:
            frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, sep=delimiter)
        except (pd.errors.ParserError, pd.errors.EmptyDataError):
            return None
        parts.append(frame.rename(columns=str))
    return pd.concat(parts, ignore_index=True) if parts else None


def _references(name: str, schema: Mapping[str, Any]) -> Iterator[Reference]:
    for key in schema.get("foreignKeys", ()):
        target = key["reference"]
        own, other = (
            [one] if isinstance(one, str) else one
            for one in (key["fields"], target.get("fields", ()))
        )
        if len(own) == len(other) == 1:
            table = target.get("resource") or name
            yield Reference(ColumnName(name, own[0]), ColumnName(table, other[0]))
