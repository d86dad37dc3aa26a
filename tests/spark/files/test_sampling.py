"""Test that samples have the requested size and come from all parts of a table."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from datahub_hyperjoin.locations import DeltaFolder, File, Folder, TableLocation
from datahub_hyperjoin.spark.columns import Column, RowEstimate, TableStream, draw
from datahub_hyperjoin.spark.counting.texts import texts_of
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId

ROWS, WANTED = 300_000, 9_000
"""Numbers of rows in the table and in the sample. No reader returns the table in one batch."""

IDS = pa.table({"id": pa.array(range(ROWS)), "padding": pa.array(["x" * 90] * ROWS)})


def _csv(encoding: str = "utf-8") -> bytes:
    lines = "".join(f"{row},{'x' * 90}\n" for row in range(ROWS))
    return f"id,padding\n{lines}".encode(encoding)


def _json() -> bytes:
    return b"".join(json.dumps({"id": row, "p": "x" * 90}).encode() + b"\n" for row in range(ROWS))


def _file_writer(
    name: str, layout: str, make: Callable[[], bytes]
) -> Callable[[Path], TableLocation]:
    def write(folder: Path) -> TableLocation:
        (folder / name).write_bytes(make())
        return File(uri=str(folder / name), format=layout)

    return write


def _parquet(folder: Path) -> TableLocation:
    pq.write_table(IDS, folder / "ids.parquet", row_group_size=10_000)
    return File(uri=str(folder / "ids.parquet"), format="parquet")


def _orc(folder: Path) -> TableLocation:
    orc.write_table(IDS, folder / "ids.orc", stripe_size=1 << 16)
    return File(uri=str(folder / "ids.orc"), format="orc")


def _avro(folder: Path) -> TableLocation:
    schema = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}]}
    with (folder / "ids.avro").open("wb") as file:
        fastavro.writer(file, schema, ({"id": row} for row in range(ROWS)))
    return File(uri=str(folder / "ids.avro"), format="avro")


def _delta(folder: Path) -> TableLocation:
    for begin in range(0, ROWS, ROWS // 3):
        write_deltalake(folder, IDS.slice(begin, ROWS // 3), mode="append")
    return DeltaFolder(uri=str(folder))


def _parts(folder: Path) -> TableLocation:
    """Write six files, some of which are ten times as long as the others."""
    cuts = [0, 10_000, 20_000, 120_000, 130_000, 230_000, ROWS]
    for number, (begin, end) in enumerate(pairwise(cuts)):
        pq.write_table(IDS.slice(begin, end - begin), folder / f"{number}.parquet")
    parts = tuple(f"{number}.parquet" for number in range(len(cuts) - 1))
    return Folder(uri=str(folder), format="parquet", parts=parts)


EXACT = {"Parquet": _parquet, "ORC": _orc, "Delta": _delta}
"""Functions that write a table in a format that stores the row count."""

ESTIMATED = {
    "CSV": _file_writer("ids.csv", "csv", _csv),
    "UTF-16": _file_writer("ids.csv", "csv", lambda: _csv("utf-16")),
    "gzip": _file_writer("ids.csv.gz", "csv", lambda: gzip.compress(_csv(), 1)),
    "bzip2": _file_writer("ids.csv.bz2", "csv", lambda: bz2.compress(_csv())),
    "xz": _file_writer("ids.csv.xz", "csv", lambda: lzma.compress(_csv(), preset=0)),
    "JSON": _file_writer("ids.jsonl", "jsonl", _json),
    "packed JSON": _file_writer("ids.jsonl.gz", "jsonl", lambda: gzip.compress(_json(), 1)),
    "Avro": _avro,
    "files": _parts,
}
"""Formats whose row count is estimated while they are read."""


def _sampled_ids(location: TableLocation, wanted: int = WANTED) -> tuple[list[int], list[str]]:
    table = Table(id=TableId("file", "ids"), title="ids", location=location, size=1)
    stream = read_table(table, Databases(), max_rows=wanted)
    ids = [int(row) for batch in stream.batches for row in batch["id"].to_pylist()]
    return ids, stream.notes


@pytest.mark.parametrize("name", [*EXACT, *ESTIMATED])
def test_samples_come_from_all_parts_of_a_table(name: str, tmp_path: Path) -> None:
    location = (EXACT | ESTIMATED)[name](tmp_path)
    ids, notes = _sampled_ids(location)
    share = len(ids) / ROWS
    assert notes[-1] == f"read a sample of {share:.2%} of {ROWS} rows"
    assert len({*ids}) == len(ids) <= WANTED
    assert len(ids) == WANTED or name in ESTIMATED
    assert len(ids) > 0.98 * WANTED
    tenths = np.histogram(ids, bins=10, range=(0, ROWS))[0]
    assert tenths.min() > 0.85 * WANTED / 10
    assert tenths.max() < 1.15 * WANTED / 10


@pytest.mark.parametrize("name", ["Parquet", "CSV"])
def test_samples_are_reproducible(name: str, tmp_path: Path) -> None:
    location = (EXACT | ESTIMATED)[name](tmp_path)
    assert _sampled_ids(location) == _sampled_ids(location)


def test_a_table_with_few_rows_is_read_whole(tmp_path: Path) -> None:
    assert _sampled_ids(_parquet(tmp_path), ROWS) == ([*range(ROWS)], [])


def _stream(sizes: Sequence[int], estimate: float) -> TableStream:
    begins = np.cumsum([0, *sizes])
    batches = (
        pa.record_batch({"id": np.arange(begin, begin + size)})
        for begin, size in zip(begins, sizes, strict=False)
    )
    return TableStream((Column("id", 0),), batches, [], RowEstimate(estimate))


def _ids(stream: TableStream, rows: int, size: int = 1 << 30) -> list[int]:
    batches = draw(stream, max_rows=rows, max_bytes=size)
    return [row for batch in batches for row in batch["id"].to_pylist()]


@given(sizes=st.lists(st.integers(0, 50), min_size=1).filter(any), wanted=st.integers(1, 100))
def test_samples_have_the_requested_size(sizes: list[int], wanted: int) -> None:
    stream = _stream(sizes, sum(sizes))
    ids = _ids(stream, wanted)
    assert len(ids) == len({*ids}) == min(wanted, sum(sizes))
    assert ids == sorted(ids)
    assert bool(stream.notes) == (wanted < sum(sizes))


def test_samples_come_from_short_batches_too() -> None:
    ids = _ids(_stream([1] * 1000, 1000), 400)
    assert np.histogram(ids, bins=4, range=(0, 1000))[0].tolist() == pytest.approx(
        [100] * 4, abs=25
    )


@pytest.mark.parametrize("estimate", [500, 2_000])
def test_a_wrong_estimate_changes_only_the_size_of_the_sample(estimate: int) -> None:
    stream = _stream([100] * 10, estimate)
    ids = _ids(stream, 200)
    assert 0 < len(ids) <= 200
    assert stream.notes == [f"read a sample of {len(ids) / 1000:.2%} of 1000 rows"]


def test_without_a_row_count_the_first_rows_are_read() -> None:
    stream = _stream([10, 10, 10], 0)
    assert _ids(stream, 15) == [*range(15)]
    assert stream.notes == ["read up to row 15; there are more"]


def test_the_limit_of_bytes_bounds_the_rows_to_sample_from() -> None:
    stream = _stream([100] * 10, 1000)
    ids = _ids(stream, 50, size=8 * 500)
    assert len(ids) == 50
    assert 400 < max(ids) < 500
    assert stream.notes == [
        "read up to row 500; there are more",
        "read a sample of 10.00% of 500 rows",
    ]


@pytest.mark.parametrize(
    "column",
    [
        *(pa.array(["a", "b"] * 50, type_) for type_ in (pa.string_view(), pa.large_string())),
        pa.array(["a", "b"] * 50).dictionary_encode(),
        pa.array(np.array([0.5, 2.0] * 50, np.float16)),
        *(
            pa.array([0, 1] * 50, type_)
            for type_ in (pa.date32(), pa.time64("us"), pa.timestamp("ms", "UTC"), pa.duration("s"))
        ),
        pa.array([True, False] * 50),
        pa.nulls(100),
    ],
    ids=lambda column: str(column.type),
)
def test_rows_of_any_type_can_be_sampled(column: pa.Array) -> None:
    batch = pa.record_batch({"of": column})
    stream = TableStream((Column("of", 0),), (one for one in [batch]), [], RowEstimate(100))
    [drawn] = draw(stream, max_rows=20, max_bytes=1 << 30)
    assert len(drawn) == 20
    assert {*texts_of(drawn["of"]).to_pylist()} == {*texts_of(column).to_pylist()}


def test_at_least_one_row_is_read() -> None:
    assert _ids(_stream([5], 5), 9, size=1) == [0]


def test_a_table_without_rows_is_rejected() -> None:
    with pytest.raises(EmptyTableError, match="has a header but no rows"):
        _ids(_stream([0], 0), 9)
