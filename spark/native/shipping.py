"""Brings files to Spark's workers, whole and many to a task.

They are read there as files of this machine are: whatever format they have, the same reader reads
it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)

from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.files.parts import in_order
from datahub_hyperjoin.spark.native.remote import literal
from datahub_hyperjoin.tables import Table

_LARGEST = 1 << 30
"""Bytes of a file that a worker holds at once."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file that is a table, or one of a table's."""

    table: Table
    """Which table."""

    at: int
    """The table's number."""

    number: int
    """The file's number among those of the table."""

    path: str
    """Its path below the table's folder, or its name."""

    parts: int
    """How many files the table has."""


def files_of(tables: Sequence[Table]) -> dict[str, Part]:
    """What is to be brought.

    Args:
        tables: Files and folders.

    Returns:
        The files by location.
    """
    found = {}
    for at, table in enumerate(tables):
        place = table.place
        if isinstance(place, Folder):
            parts = in_order(place)
            for number, part in enumerate(parts):
                found[f"{place.location}/{part}"] = Part(table, at, number, part, len(parts))
        elif isinstance(place, File):
            name = place.location.rpartition("/")[2]
            found[place.location] = Part(table, at, 0, name, 1)
    return found


def ship(session: SparkSession, locations: Sequence[str]) -> DataFrame:
    """Files with what is in them.

    Args:
        session: Where to run.
        locations: Their URIs.

    Returns:
        A row for each, with its `path` as it was listed, and its `content`; without those that are
        gone, that may not be read, or that are too large to be brought.
    """
    reader = session.read.format("binaryFile").options(
        ignoreMissingFiles=True, ignoreCorruptFiles=True
    )
    there = _there(reader, [*map(literal, locations)])
    if not there:
        return session.createDataFrame([], "path string, content binary")
    return reader.load(there).where(F.col("length") <= _LARGEST).select("path", "content")


def _there(reader: DataFrameReader, locations: list[str]) -> list[str]:
    """Those that are still there: Spark refuses all if one is not, and does not say which."""
    if not locations or _are_there(reader, locations):
        return locations
    half = len(locations) // 2
    return _there(reader, locations[:half]) + _there(reader, locations[half:]) if half else []


def _are_there(reader: DataFrameReader, locations: list[str]) -> bool:
    try:
        return bool(reader.load(locations).columns)  # over Connect nothing is looked up before
    except AnalysisException:
        return False


def arriving(
    batches: Iterator[pa.RecordBatch], asked: Mapping[str, Part]
) -> Iterator[tuple[Part, Table]]:
    """Files as they come to a worker, one at a time.

    Args:
        batches: Locations and contents.
        asked: What was to be brought.

    Yields:
        A file, and its table as it stands here, as far as this file goes; the file is removed when
        the next one is asked for.
    """
    for batch in batches:
        for location, content in zip(*batch.columns, strict=True):
            part = asked[location.as_py()]
            with _kept(part.path, content.as_py()) as folder:
                yield part, _here(part, folder)


def _here(part: Part, folder: Path) -> Table:
    place = part.table.place
    if isinstance(place, Folder):
        place = replace(place, location=str(folder), parts=(part.path,))
    elif isinstance(place, File):
        place = replace(place, location=str(folder / part.path))
    return replace(part.table, place=place)


@contextmanager
def _kept(path: str, content: bytes) -> Iterator[Path]:
    """A folder below which there is a file, for a while."""
    with TemporaryDirectory(prefix="hyperjoin-") as folder:
        copy = Path(folder) / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        yield Path(folder)
