"""List and fetch files of remote file systems through Spark.

These are `s3a`, `abfs`, `hdfs` and all others that Spark reaches.
"""

import re
from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)

from datahub_hyperjoin.locations import ListedFile
from datahub_hyperjoin.spark.files.delta import DELTA_LOG
from datahub_hyperjoin.spark.native.jobs import collect_arrow

_MAX_FILE_BYTES = 1 << 30
"""Size of the largest file that is copied. A worker holds one file in memory at a time, and Java
arrays end at 2 GiB."""

_PATH_OF_URI = re.compile(r"[a-zA-Z0-9+.-]+:(?://[^/]*)?(/.*)")
_PATTERN_CHARACTERS = r"\*?[]{}"


def list_files(session: SparkSession, folder: str) -> list[ListedFile]:
    """List the files below a folder.

    Files that Spark treats as hidden are left out.
    """
    reader = session.read.format("binaryFile").option("recursiveFileLookup", value=True)
    return _listed(reader.load(escape_pattern(folder)), folder)


def list_delta_logs(session: SparkSession, folder: str, *, depth: int) -> list[ListedFile]:
    """List the log files of the Delta tables below a folder.

    Spark treats the logs as hidden, so `list_files` does not return them.
    """
    # Recursive listing skips hidden folders, but a pattern that names them does not.
    logs = []
    for level in range(depth + 1):
        pattern = escape_pattern(folder.rstrip("/")) + "/*" * level + f"/{DELTA_LOG}"
        try:
            logs += _listed(session.read.format("binaryFile").load(pattern), folder)
        except AnalysisException:
            continue  # Spark raises if no folder matches.
    return sorted(logs, key=lambda file: file.path)


def read_binary_files(session: SparkSession, uris: Sequence[str]) -> DataFrame:
    """Read files into a Spark data frame that has one row for each file.

    Returns:
        A row for each file with its `path`, which is its URI as listed, and its `content`. Files
        that are missing, unreadable or larger than 1 GiB have no row.
    """
    reader = session.read.format("binaryFile").options(
        ignoreMissingFiles=True, ignoreCorruptFiles=True
    )
    patterns = _existing(reader, [*map(escape_pattern, uris)])
    if not patterns:
        return session.createDataFrame([], "path string, content binary")
    files = reader.load(patterns).where(F.col("length") <= _MAX_FILE_BYTES)
    return files.select("path", "content")


def fetch_files(session: SparkSession, uris: Sequence[str]) -> dict[str, bytes]:
    """Fetch small files to the driver in one Spark job."""
    rows = collect_arrow(read_binary_files(session, uris))
    return dict(zip(rows["path"].to_pylist(), rows["content"].to_pylist(), strict=True))


def escape_pattern(uri: str) -> str:
    r"""Escape the characters of a URI that have a special meaning in Spark's glob patterns.

    Returns:
        The pattern that matches this URI only.

    >>> escape_pattern("s3a://lake/orders[1].csv")
    's3a://lake/orders\\[1\\].csv'
    """
    return "".join(f"\\{sign}" if sign in _PATTERN_CHARACTERS else sign for sign in uri)


def _existing(reader: DataFrameReader, patterns: list[str]) -> list[str]:
    """Return the glob patterns that match at least one existing file.

    Spark refuses all files if one is missing, and does not say which: the halves that it refuses
    are halved again, so that n missing files among N cost about n log N attempts.
    """
    if not patterns or _exist(reader, patterns):
        return patterns
    half = len(patterns) // 2
    return _existing(reader, patterns[:half]) + _existing(reader, patterns[half:]) if half else []


def _exist(reader: DataFrameReader, patterns: list[str]) -> bool:
    try:
        # Spark Connect looks files up only when the schema is asked for.
        return bool(reader.load(patterns).columns)
    except AnalysisException:
        return False


def _listed(files: DataFrame, folder: str) -> list[ListedFile]:
    start = len(_path_of(folder.rstrip("/"))) + 1
    micros = F.unix_micros("modificationTime")
    rows = files.select("path", "length", micros * 1000).collect()
    return sorted(
        (ListedFile(uri, _path_of(uri)[start:], size, changed) for uri, size, changed in rows),
        key=lambda file: file.path,
    )


def _path_of(uri: str) -> str:
    """Return a URI without its scheme and host.

    >>> _path_of("s3a://lake/a b/c.csv"), _path_of("file:/lake/c.csv"), _path_of("hdfs:///lake")
    ('/a b/c.csv', '/lake/c.csv', '/lake')
    """
    match = _PATH_OF_URI.match(uri)
    return match[1] if match else ""
