"""Lists file systems that Spark is told how to reach, as `s3a`, `abfs`, `gs` and `hdfs` are."""

import re

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)

from datahub_hyperjoin.locations import ListedFile

_BELOW = re.compile(r"[a-zA-Z0-9+.-]+:(?://[^/]*)?(/.*)")
_SIGNS_OF_PATTERNS = r"\*?[]{}"


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
    return _listed(everything.load(literal(folder)), folder)


def list_logs(session: SparkSession, folder: str, *, depth: int) -> list[ListedFile]:
    """Lists the logs of Delta tables below a folder, which Spark takes for hidden.

    Args:
        session: Where to run.
        folder: Its URI.
        depth: How many folders deep to look.

    Returns:
        Files by path.
    """
    found = []
    for level in range(depth + 1):
        pattern = literal(folder.rstrip("/")) + "/*" * level + "/_delta_log"
        try:
            found += _listed(session.read.format("binaryFile").load(pattern), folder)
        except AnalysisException:
            continue  # there is none so deep
    return sorted(found, key=lambda file: file.path)


def _listed(files: DataFrame, folder: str) -> list[ListedFile]:
    start = len(_below(folder.rstrip("/"))) + 1
    micros = F.unix_micros("modificationTime")
    found = files.select("path", "length", micros * 1000).collect()
    return sorted(
        (ListedFile(path, _below(path)[start:], size, changed) for path, size, changed in found),
        key=lambda file: file.path,
    )


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
