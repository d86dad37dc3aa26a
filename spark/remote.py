"""Lists file systems that Spark is told how to reach, as `s3a`, `abfs`, `gs` and `hdfs` are."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

_BELOW = re.compile(r"[a-zA-Z0-9+.-]+:(?://[^/]*)?(/.*)")
_SIGNS_OF_PATTERNS = r"\*?[]{}"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file that Spark has found."""

    location: str
    """Its URI, not encoded, as Spark writes it."""

    path: str
    """Its path below the folder."""

    size: int
    """Bytes."""

    changed: datetime
    """When it was written last."""


def list_files(session: SparkSession, folder: str) -> list[ListedFile]:
    """Lists what is below a folder, without what Spark takes for hidden.

    Args:
        session: Where to run.
        folder: Its URI.

    Returns:
        Files by path.

    Raises:
        PySparkException: There is no such folder, or Spark cannot reach it.
    """
    everything = session.read.format("binaryFile").option("recursiveFileLookup", value=True)
    found = everything.load(literal(folder)).select("path", "length", "modificationTime").collect()
    start = len(_below(folder.rstrip("/"))) + 1
    return sorted(
        (ListedFile(path, _below(path)[start:], size, changed) for path, size, changed in found),
        key=lambda file: file.path,
    )


def find_logs(session: SparkSession, folder: str, *, depth: int) -> set[PurePosixPath]:
    """Finds the Delta tables below a folder: to Spark their logs are hidden.

    Args:
        session: Where to run.
        folder: Its URI.
        depth: How many folders deep to look.

    Returns:
        Paths of the tables below the folder.
    """
    start = len(_below(folder.rstrip("/"))) + 1
    tables: set[PurePosixPath] = set()
    for level in range(depth + 1):
        pattern = literal(folder.rstrip("/")) + "/*" * level + "/_delta_log"
        try:
            logs = session.read.format("binaryFile").load(pattern).select("path").collect()
        except AnalysisException:
            continue  # there is none so deep
        tables.update(PurePosixPath(_below(path)[start:]).parent.parent for (path,) in logs)
    return tables


def literal(location: str) -> str:
    r"""A location that Spark, to which it is a pattern, takes as it is.

    Args:
        location: A URI.

    Returns:
        The pattern of it alone.

    >>> literal("s3a://lake/orders[1].csv")
    's3a://lake/orders\\[1\\].csv'
    """
    return "".join(f"\\{sign}" if sign in _SIGNS_OF_PATTERNS else sign for sign in location)


def _below(location: str) -> str:
    """The path within a file system, of which Spark may have completed the name.

    >>> _below("s3a://lake/a b/c.csv"), _below("file:/lake/c.csv"), _below("hdfs:///lake")
    ('/a b/c.csv', '/lake/c.csv', '/lake')
    """
    found = _BELOW.match(location)
    return found[1] if found else ""
