"""Profiles on their way from workers to the driver.

What Spark need not look into, it does not convert value by value. And where workers write to a disk
that the driver reads, it carries only the names of files: a large lake's profiles are gigabytes,
which Java would hold whole.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa

from datahub_hyperjoin.spark.gc_tuning import without_collecting
from datahub_hyperjoin.spark.profiles.rows import PROFILE_ROW, from_rows, to_rows
from datahub_hyperjoin.tables import Table, TableProfile

PARCEL = pa.schema({"places": pa.list_(pa.int64()), "profiles": pa.binary(), "file": pa.string()})
"""Profiles as Spark sees them: themselves, or the file that holds them."""


@contextmanager
def depot() -> Iterator[Path]:
    """A folder for parcels for the length of a `with` block; workers elsewhere do not find it.

    Yields:
        Its path, which only this user can enter.
    """
    with TemporaryDirectory(prefix="hyperjoin-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def wrap(places: Sequence[int], profiles: Sequence[TableProfile], folder: Path) -> pa.RecordBatch:
    """Profiles as a worker sends them.

    Args:
        places: Their tables' numbers.
        profiles: What they say.
        folder: The driver's depot, as a worker here finds it.

    Returns:
        A row of `PARCEL`.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, PROFILE_ROW) as stream:
        stream.write_batch(to_rows(profiles))
    parcel = {"places": [*places], **_left(sink.getvalue(), folder / uuid4().hex)}
    return pa.RecordBatch.from_pylist([parcel], schema=PARCEL)


def unwrap(parcels: pa.Table, tables: Sequence[Table]) -> dict[int, TableProfile]:
    """Profiles as they were.

    Args:
        parcels: Rows of `PARCEL`.
        tables: All tables.

    Returns:
        The profiles by their tables' numbers.
    """
    profiles: dict[int, TableProfile] = {}
    with without_collecting():
        for places, parcel, file in zip(
            parcels["places"].to_pylist(),
            parcels["profiles"],
            parcels["file"].to_pylist(),
            strict=True,
        ):
            own = [tables[at] for at in places]
            for rows in pa.ipc.open_stream(pa.memory_map(file) if file else parcel.as_buffer()):
                profiles.update(zip(places, from_rows(own, rows), strict=True))
    return profiles


def _left(profiles: pa.Buffer, file: Path) -> dict[str, object]:
    try:
        with file.open("xb") as sink:
            sink.write(profiles)
    except OSError:
        # The driver is on another machine, or this one's disk is full.
        return {"profiles": profiles.to_pybytes()}
    return {"file": str(file)}
