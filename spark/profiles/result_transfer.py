"""Send profiles from workers to the driver.

Spark does not interpret the profiles, so it does not convert them value by value. If workers write
to a disk that the driver reads, Spark transfers only file names: the profiles of a large lake are
gigabytes, all of which Java would otherwise hold. The files also outlive a job that fails.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from datahub_hyperjoin.spark.gc_tuning import gc_paused
from datahub_hyperjoin.spark.profiles.rows import PROFILE_ROW, from_rows, to_rows
from datahub_hyperjoin.tables import Table, TableProfile
from datahub_hyperjoin.temporary import temporary_folder

ResultFolder = Callable[[Sequence[Table]], AbstractContextManager[Path]]
"""Provides the folder for the result files of a job that profiles the given tables."""

RESULT_ROW = pa.schema({"profiles": pa.binary(), "file": pa.string()})
"""Profiles of some tables, inline or in a file."""

RESULT_FILE_ROW = pa.schema([pa.field("table", pa.int64()), *PROFILE_ROW])
"""A table's index in its job, and its profile."""

_SUFFIX = ".profiles"


def temporary_results(tables: Sequence[Table]) -> AbstractContextManager[Path]:
    """Provide a temporary folder for the results of a job."""
    del tables
    return temporary_folder()


def send_profiles(
    tables: Sequence[int], profiles: Sequence[TableProfile], folder: Path
) -> pa.RecordBatch:
    """Write profiles to a file for the driver, and return a row that names the file.

    If the file cannot be written, the row contains the profiles.

    Args:
        folder: The driver's folder for results. Workers on other machines do not find it.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, RESULT_FILE_ROW) as stream:
        columns = [pa.array(tables, pa.int64()), *to_rows(profiles).columns]
        stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=RESULT_FILE_ROW))
    return pa.RecordBatch.from_pylist([_write(sink.getvalue(), folder)], schema=RESULT_ROW)


def receive_profiles(results: pa.Table, tables: Sequence[Table]) -> dict[int, TableProfile]:
    """Build profiles from the rows that workers returned."""
    profiles: dict[int, TableProfile] = {}
    with gc_paused():
        for inline, file in zip(results["profiles"], results["file"].to_pylist(), strict=True):
            for rows in pa.ipc.open_stream(pa.memory_map(file) if file else inline.as_buffer()):
                profiles |= _by_index(rows, tables)
    return profiles


def salvage_profiles(folder: Path, tables: Sequence[Table]) -> dict[int, TableProfile]:
    """Read the profiles that workers finished before a job failed."""
    with gc_paused():
        return {
            index: profile
            for rows in read_results(folder)
            for index, profile in _by_index(rows, tables).items()
        }


def read_results(folder: Path) -> Iterator[pa.RecordBatch]:
    """Read all result files in a folder.

    Yields:
        Rows of `RESULT_FILE_ROW`. Files that were not written to their end are left out.
    """
    for file in sorted(folder.glob(f"*{_SUFFIX}")):
        content = file.read_bytes()
        if sha256(content).hexdigest() != file.stem:
            continue
        with pa.ipc.open_stream(content) as rows:
            if rows.schema.equals(RESULT_FILE_ROW):
                yield from rows


def _by_index(rows: pa.RecordBatch, tables: Sequence[Table]) -> dict[int, TableProfile]:
    indices = rows["table"].to_pylist()
    profiles = from_rows([tables[index] for index in indices], rows)
    return dict(zip(indices, profiles, strict=True))


def _write(profiles: pa.Buffer, folder: Path) -> dict[str, object]:
    # Named by its checksum, so that a file which a killed worker left unfinished is told apart.
    file = folder / f"{sha256(profiles).hexdigest()}{_SUFFIX}"
    try:
        file.touch(mode=0o600)
        file.write_bytes(profiles)
    except OSError:
        # The driver is on another machine, or the disk is full.
        return {"profiles": profiles.to_pybytes()}
    return {"file": str(file)}
