"""Reads a table of many files, as Spark, Hive and others write them."""

import re
import zlib
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from datahub_hyperjoin.errors import EmptyTableError, TableError
from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.columns import Column, RowEstimate, TableStream, read_of, wanted

_KEY = re.compile(r"([^/=]+)=([^/]*)/")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What the key of a folder has for a value where there is none."""
_NAMED = 3
"""Notes of single files that are passed on; a thousand files may all say the same."""

Open = Callable[[File, Collection[str] | None], TableStream]


class _Part(NamedTuple):
    """A file of the table."""

    path: str
    size: int
    """Bytes of it."""
    open: Callable[[], TableStream]


def read_parts(folder: Folder, paths: Collection[str] | None, *, open_file: Open) -> TableStream:
    """Opens a folder as one table.

    Files are read in an order of no meaning, the same in every run: the first rows are then of all
    months or countries, and not of the first ones. The file read first tells the columns.

    Args:
        folder: The files.
        paths: The columns to read; without it, all.
        open_file: Opens one of them.

    Returns:
        The reading; keys of the folders are its last columns.

    Raises:
        TableError: No file can be used.
    """
    parts = in_order(folder)
    first = _first(folder, parts, open_file)
    held = read_of(first.columns)
    keys = [key for key in keys_of(parts[0]) if key not in held]
    ends = [Column(key, len(first.columns) + at) for at, key in enumerate(keys)]
    chosen = wanted([*first.columns, *ends], paths)
    names = read_of(chosen)
    # Rows count though nothing but keys is asked for.
    asked = [name for name in names if name in held] or held[:1]
    notes, extent = [*first.notes], RowEstimate()
    readings = [
        _Part(part, _size(folder, part), partial(open_file, _file(folder, part), asked))
        for part in parts
    ]
    return TableStream(chosen, _batches(readings, names, notes, extent), notes, extent)


def in_order(folder: Folder) -> list[str]:
    """The files in the order in which they are read, which has no meaning.

    Args:
        folder: The files.

    Returns:
        Their paths, in the same order in every run.
    """
    return sorted(folder.parts, key=lambda part: (zlib.crc32(part.encode()), part))


def keys_of(part: str) -> dict[str, str | None]:
    """Keys and values on the way to a file.

    Args:
        part: Its path.

    Returns:
        Values by key.

    >>> keys_of("year=2024/city=S%C3%A3o Paulo/part-0.parquet")
    {'year': '2024', 'city': 'São Paulo'}
    >>> keys_of("year=__HIVE_DEFAULT_PARTITION__/0.csv"), keys_of("0.csv")
    ({'year': None}, {})
    """
    found = ((unquote(key), unquote(value)) for key, value in _KEY.findall(part))
    return {key: None if value == NO_VALUE else value for key, value in found}


def _first(folder: Folder, parts: Sequence[str], open_file: Open) -> TableStream:
    """The first reading that there is; its columns are all that is used of it."""
    faults = []
    for part in parts:
        try:
            reading = open_file(_file(folder, part), None)
        except TableError as fault:  # noqa: PERF203 (any file may be the first that can be read)
            faults.append(fault)
        else:
            reading.batches.close()
            return reading
    raise faults[0]


def _file(folder: Folder, part: str) -> File:
    location = f"{folder.location}/{part}"
    return File(location=location, format=folder.format, dialect=folder.dialect)


def _size(folder: Folder, part: str) -> int:
    path = Path(folder.location, part)
    return path.stat().st_size if path.exists() else 0


def _batches(
    parts: Sequence[_Part], names: Sequence[str], notes: list[str], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    said = dict.fromkeys(notes)
    lost: list[str] = []
    total, before, rows = sum(part.size for part in parts), 0, 0
    for part in parts:
        keys, own = keys_of(part.path), 0
        try:
            reading = part.open()
            with closing(reading.batches) as batches:
                for batch in batches:
                    own += len(batch)
                    read = before + part.size * own / max(reading.extent.rows, own, 1)
                    extent.rows = (rows + own) * total / max(read, 1)
                    yield _conform(batch, names, keys)
            said.update(dict.fromkeys(reading.notes))
        except EmptyTableError:
            continue
        except TableError as fault:
            lost.append(f"{part.path} {fault}")
        finally:
            before, rows = before + part.size, rows + own
    notes[:] = [*said][:_NAMED]
    if lost:
        notes.append(f"files left out: {len(lost)}, for example {lost[0]}")


def _conform(
    batch: pa.RecordBatch, names: Sequence[str], keys: Mapping[str, str | None]
) -> pa.RecordBatch:
    """The rows of a file with the columns of the table; one that it lacks has no values."""
    held = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [
        held[name] if name in held else pa.array([keys.get(name)] * len(batch), pa.string())
        for name in names
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))
