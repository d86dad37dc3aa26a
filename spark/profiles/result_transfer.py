"""Transfers profiles from workers to the driver.

Spark does not interpret the profiles, so it does not convert them value by value. If workers write
to a disk that the driver reads, Spark transfers only file names: the profiles of a large lake are
gigabytes, all of which Java would otherwise hold.
"""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from datahub_hyperjoin.spark.gc_tuning import gc_paused
from datahub_hyperjoin.spark.profiles.rows import PROFILE_ROW, from_rows, to_rows
from datahub_hyperjoin.tables import Table, TableProfile

RESULT_ROW = pa.schema(
    {"tables": pa.list_(pa.int64()), "profiles": pa.binary(), "file": pa.string()}
)
"""Profiles of some tables, inline or in a file."""


def send_profiles(
    tables: Sequence[int], profiles: Sequence[TableProfile], folder: Path
) -> pa.RecordBatch:
    """Pack profiles into a row that the worker returns to the driver.

    Args:
        tables: Indices of the tables.
        profiles: Their profiles.
        folder: A temporary folder of the driver. Workers on other machines do not find it.

    Returns:
        A row of `RESULT_ROW`.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, PROFILE_ROW) as stream:
        stream.write_batch(to_rows(profiles))
    row = {"tables": [*tables], **_write(sink.getvalue(), folder / uuid4().hex)}
    return pa.RecordBatch.from_pylist([row], schema=RESULT_ROW)


def receive_profiles(results: pa.Table, tables: Sequence[Table]) -> dict[int, TableProfile]:
    """Unpack the profiles that workers returned to the driver.

    Args:
        results: Rows of `RESULT_ROW`.
        tables: All tables.

    Returns:
        Profiles by the tables' indices.
    """
    profiles: dict[int, TableProfile] = {}
    with gc_paused():
        for indices, inline, file in zip(
            results["tables"].to_pylist(),
            results["profiles"],
            results["file"].to_pylist(),
            strict=True,
        ):
            profiled = [tables[index] for index in indices]
            for rows in pa.ipc.open_stream(pa.memory_map(file) if file else inline.as_buffer()):
                profiles.update(zip(indices, from_rows(profiled, rows), strict=True))
    return profiles


def _write(profiles: pa.Buffer, file: Path) -> dict[str, object]:
    try:
        with file.open("xb") as sink:
            sink.write(profiles)
    except OSError:
        # The driver is on another machine, or the disk is full.
        return {"profiles": profiles.to_pybytes()}
    return {"file": str(file)}
