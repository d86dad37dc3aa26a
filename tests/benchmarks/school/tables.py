"""Read public tables that declare no references."""

import io
from pathlib import PurePosixPath

import pandas as pd

from benchmarks.school.database import Database
from benchmarks.school.repository import Repository


def read_tables(repository: Repository, patterns: str) -> Database:
    """Read the CSV files of a repository, except those that are too large or broken.

    Args:
        repository: The repository.
        patterns: Patterns of their paths, separated by spaces.

    Raises:
        UnreadableSourceError: No file matches.
    """
    tables = {}
    for path in repository.matching(patterns):
        content = repository.read(path)
        if not content:
            continue
        try:
            frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
        except (pd.errors.ParserError, UnicodeDecodeError):
            continue
        tables[PurePosixPath(path).stem] = frame.rename(columns=str)
    return Database(repository.source, tables, ())
