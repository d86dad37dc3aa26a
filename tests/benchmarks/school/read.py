"""Read all databases on the list of sources, in any format."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.school.cldf import read_cldf
from benchmarks.school.database import Database
from benchmarks.school.django import read_django
from benchmarks.school.errors import SourceError, UnreadableSourceError
from benchmarks.school.fingerprints import check_unknown
from benchmarks.school.headers import read_headers
from benchmarks.school.packages import read_package
from benchmarks.school.repository import Repository, open_repository
from benchmarks.school.sampling import sample
from benchmarks.school.sources import Kind, Source
from benchmarks.school.sql import read_sql
from benchmarks.school.sqlite import read_sqlite
from benchmarks.school.tables import read_tables

CACHE = Path.home() / ".cache" / "datahub-hyperjoin" / "school"
"""Folder of cloned sources, unless another one is asked for."""

logger = logging.getLogger(__name__)

_ROWS = 4_000
"""Maximum number of rows of a table that are kept in memory."""

_TABLES, _KEYS = 3, 2
"""Fewest tables and declared keys of a database."""


def read_databases(
    sources: Iterable[Source], *, cache: Path, mirror: Path | None
) -> list[Database]:
    """Read the databases of all sources, with a limited number of rows per table.

    One that cannot be read is left out, with a warning.

    Args:
        sources: Where they are.
        cache: Folder of cloned sources.
        mirror: Folder that holds sources, and is only read.
    """
    databases = []
    for source in sources:
        try:
            database = replace(_read(source, cache, mirror), name=source.database)
            _check(database, source)
        except SourceError as error:
            logger.warning("%s", error)
            continue
        # A blank row stands for the rows of a schema, which are made up later.
        if not database.invented:
            database = sample(database, _ROWS, np.random.default_rng(0))
        databases.append(database)
    return databases


def _check(database: Database, source: Source) -> None:
    """Refuse a database that is too small, or that judges."""
    check_unknown(database)
    keys = sum(database.has(one.target) for one in database.references)
    tables = sum(not frame.empty for frame in database.tables.values())
    if source.kind != Kind.TABLES and (tables < _TABLES or keys < _KEYS):
        raise UnreadableSourceError.too_small(source.database, tables, keys)


def _read(source: Source, cache: Path, mirror: Path | None) -> Database:
    repository = open_repository(source.name, source.commit, cache=cache, mirror=mirror)
    return _READERS[source.kind](repository, source.path)


def _read_file(repository: Repository, path: str) -> Database:
    content = repository.read(path)
    if content is None:
        raise UnreadableSourceError.without_file(repository.source, path)
    return read_sqlite(repository.source, content)


_READERS: dict[Kind, Callable[[Repository, str], Database]] = {
    Kind.CLDF: read_cldf,
    Kind.DJANGO: read_django,
    Kind.FRICTIONLESS: read_package,
    Kind.HEADERS: read_headers,
    Kind.SQL: read_sql,
    Kind.SQLITE: _read_file,
    Kind.TABLES: read_tables,
}
