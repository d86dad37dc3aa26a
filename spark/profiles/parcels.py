"""Profiles on their way from workers to the driver.

What Spark need not look into, it does not convert value by value.
"""

from collections.abc import Sequence

import pyarrow as pa

from datahub_hyperjoin.spark.profiles.rows import (
    PROFILE_ROW,
    from_row,
    list_rows,
    to_rows,
    without_collecting,
)
from datahub_hyperjoin.tables import Table, TableProfile

PARCEL = pa.schema({"places": pa.list_(pa.int64()), "profiles": pa.binary()})
"""Profiles as Spark sees them."""


def wrap(places: Sequence[int], profiles: Sequence[TableProfile]) -> pa.RecordBatch:
    """Profiles as a worker sends them.

    Args:
        places: Their tables' numbers.
        profiles: What they say.

    Returns:
        A row of `PARCEL`.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, PROFILE_ROW) as stream:
        stream.write_batch(to_rows(profiles))
    parcel = {"places": [*places], "profiles": sink.getvalue().to_pybytes()}
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
        for places, parcel in zip(parcels["places"].to_pylist(), parcels["profiles"], strict=True):
            batches = pa.ipc.open_stream(parcel.as_buffer())
            rows = (row for batch in batches for row in list_rows(batch))
            profiles |= {
                at: from_row(tables[at], row) for at, row in zip(places, rows, strict=True)
            }
    return profiles
