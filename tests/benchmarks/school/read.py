"""Read all databases on the list of sources, in any format."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from typing_extensions import assert_never

from benchmarks.school.cldf import read_cldf
from benchmarks.school.database import Database
from benchmarks.school.django import read_django
from benchmarks.school.errors import SourceError, UnreadableSourceError
from benchmarks.school.repository import Repository, open_repository
from benchmarks.school.sampling import sample
from benchmarks.school.sources import Kind, Source
from benchmarks.school.sqlite import read_sqlite
from benchmarks.school.tables import read_tables

logger = logging.getLogger(__name__)

_ROWS = 4_000
"""Maximum number of rows of a table that are kept in memory."""


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
            database = _read(source, cache, mirror)
        except SourceError as error:
            logger.warning("%s", error)
            continue
        named = replace(database, name=source.database)
        databases.append(sample(named, _ROWS, np.random.default_rng(0)))
    return databases


def _read(source: Source, cache: Path, mirror: Path | None) -> Database:
    repository = open_repository(source.name, source.commit, cache=cache, mirror=mirror)
    match source.kind:
        case Kind.CLDF:
            return read_cldf(repository, source.path)
        case Kind.DJANGO:
            return read_django(repository, source.path)
        case Kind.SQLITE:
            return read_sqlite(source.database, _content(repository, source.path))
        case Kind.TABLES:
            return read_tables(repository, source.path)
        case _:
            assert_never(source.kind)


def _content(repository: Repository, path: str) -> bytes:
    content = repository.read(path)
    if content is None:
        raise UnreadableSourceError.without_file(repository.source, path)
    return content
