"""Use DuckDB to count the matching values and rows of joins through crosswalks."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

VALUE_ROW = pa.schema({"column": pa.int32(), "hash": pa.int64(), "rows": pa.int64()})
"""The hash of a value of a column, and the number of rows that have the value."""

_LINK_ROW = pa.schema(
    {name: pa.int32() for name in ("bridge", "left_end", "crosswalk", "right_end")}
)
_LINKED = """
CREATE TABLE linked AS
SELECT bridge, x, y, entries, a.rows AS "left", b.rows AS "right"
FROM (SELECT crosswalk, x, y, SUM(entries) AS entries FROM entry_rows GROUP BY ALL)
JOIN link_rows USING (crosswalk)
JOIN value_rows AS a ON a."column" = left_end AND a.hash = x
JOIN value_rows AS b ON b."column" = right_end AND b.hash = y
"""
_REACHED = """
SELECT bridge, COUNT(*), MAX(matched)::BIGINT, SUM(matched * own)::BIGINT
FROM (
    SELECT bridge, SUM(entries * "{other}") AS matched, ANY_VALUE("{own}") AS own
    FROM linked GROUP BY bridge, {value}
)
GROUP BY bridge
"""


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """The counts of one column's matching values and rows in a join through a crosswalk."""

    values: int = 0
    """Number of distinct values."""

    most: int = 0
    """Greatest number of rows of the join's other column that match one row of this column."""

    rows: int = 0
    """Number of rows that the join returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeCounts:
    """The counts from which the evidence for joins through crosswalks is computed."""

    totals: Mapping[int, tuple[int, int]]
    """For each column that was read: the number of distinct values, and the number of rows with a
    value."""

    read: AbstractSet[int]
    """The crosswalks that were read."""

    shared: Mapping[int, int]
    """For each join, the number of pairs of values that its crosswalk connects."""

    left: Mapping[int, MatchCounts]
    """The matches of each join's left column."""

    right: Mapping[int, MatchCounts]
    """The matches of each join's right column."""


def unpack_values(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Unpack hash partitions into rows, one for each column and value."""
    for batch in batches:
        for row in batch.to_pylist():
            numbers = np.frombuffer(row["columns"], "<i4")
            sizes, hashes, rows = (
                np.frombuffer(row[name], "<i8") for name in ("sizes", "hashes", "counts")
            )
            columns = map(pa.array, (np.repeat(numbers, sizes), hashes, rows))
            yield pa.RecordBatch.from_arrays([*columns], schema=VALUE_ROW)


def count_bridges(
    links: Sequence[tuple[int, int, int, int]],
    values: pa.Table,
    entries: pa.Table,
) -> BridgeCounts:
    """Use DuckDB to count the matching values and rows of `links`, the joins through crosswalks.

    Args:
        links: The numbers of each join, its left column, its crosswalk and its right column.
        values: The hash of each distinct value as `hash`, with its `column` and number of `rows`.
        entries: Rows of crosswalks as hashes `x` and `y`, with their number as `entries`.
    """
    import duckdb  # noqa: PLC0415 (few lakes have crosswalks)

    by_name = zip(_LINK_ROW.names, zip(*links, strict=True), strict=True)
    with duckdb.connect() as connection:
        connection.register("link_rows", pa.Table.from_pydict(dict(by_name), schema=_LINK_ROW))
        connection.register("value_rows", values)
        connection.register("entry_rows", entries)
        connection.execute(_LINKED)

        def fetch(query: str) -> list[Any]:
            return connection.execute(query).fetchall()

        def reached(value: str, own: str, other: str) -> dict[int, MatchCounts]:
            rows = fetch(_REACHED.format(value=value, own=own, other=other))
            return {bridge: MatchCounts(*counts) for bridge, *counts in rows}

        totals = fetch('SELECT "column", COUNT(*), SUM(rows)::BIGINT FROM value_rows GROUP BY ALL')
        return BridgeCounts(
            totals={column: (distinct, rows) for column, distinct, rows in totals},
            read={number for (number,) in fetch("SELECT DISTINCT crosswalk FROM entry_rows")},
            shared=dict(fetch("SELECT bridge, COUNT(*) FROM linked GROUP BY bridge")),
            left=reached("x", "left", "right"),
            right=reached("y", "right", "left"),
        )
