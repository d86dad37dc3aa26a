"""Rows drawn while a table is read: as many as wanted, of all its parts, the same every time."""

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

from datahub_hyperjoin.locations import DeltaFolder, File, FileFormat, Folder, TableLocation
from datahub_hyperjoin.spark.columns import Column, RowEstimate, TableStream
from datahub_hyperjoin.spark.counting.text_counts import texts_of
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.sampling import draw
from datahub_hyperjoin.tables import Table, TableId

ROWS, WANTED = 300_000, 9_000
"""More rows than any reader gives in one batch."""

IDS = pa.table({"id": pa.array(range(ROWS)), "padding": pa.array(["x" * 90] * ROWS)})


def _csv(encoding: str = "utf-8") -> bytes:
    lines = "".join(f"{row},{'x' * 90}\n" for row in range(ROWS))
    return f"id,padding\n{lines}".encode(encoding)


def _json() -> bytes:
    return b"".join(json.dumps({"id": row, "p": "x" * 90}).encode() + b"\n" for row in range(ROWS))


def _written(
    name: str, layout: FileFormat, make: Callable[[], bytes]
) -> Callable[[Path], TableLocation]:
    def write(folder: Path) -> TableLocation:
        (folder / name).write_bytes(make())
        return File(uri=str(folder / name), format=layout)

    return write


def _parquet(folder: Path) -> TableLocation:
    pq.write_table(IDS, folder / "ids.parquet", row_group_size=10_000)
    return File(uri=str(folder / "ids.parquet"), format=FileFormat.PARQUET)


def _orc(folder: Path) -> TableLocation:
    orc.write_table(IDS, folder / "ids.orc", stripe_size=1 << 16)
    return File(uri=str(folder / "ids.orc"), format=FileFormat.ORC)


def _avro(folder: Path) -> TableLocation:
    schema = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}]}
    with (folder / "ids.avro").open("wb") as file:
        fastavro.writer(file, schema, ({"id": row} for row in range(ROWS)))
    return File(uri=str(folder / "ids.avro"), format=FileFormat.AVRO)


def _delta(folder: Path) -> TableLocation:
    for begin in range(0, ROWS, ROWS // 3):
        write_deltalake(folder, IDS.slice(begin, ROWS // 3), mode="append")
    return DeltaFolder(uri=str(folder))


def _parts(folder: Path) -> TableLocation:
    """Files of which some are ten times as long as others."""
    cuts = [0, 10_000, 20_000, 120_000, 130_000, 230_000, ROWS]
    for at, (begin, end) in enumerate(pairwise(cuts)):
        pq.write_table(IDS.slice(begin, end - begin), folder / f"{at}.parquet")
    parts = tuple(f"{at}.parquet" for at in range(len(cuts) - 1))
    return Folder(uri=str(folder), format=FileFormat.PARQUET, parts=parts)


TOLD = {"Parquet": _parquet, "ORC": _orc, "Delta": _delta}
"""What tells how many rows it has."""

ESTIMATED = {
    "CSV": _written("ids.csv", FileFormat.CSV, _csv),
    "UTF-16": _written("ids.csv", FileFormat.CSV, lambda: _csv("utf-16")),
    "gzip": _written("ids.csv.gz", FileFormat.CSV, lambda: gzip.compress(_csv(), 1)),
    "bzip2": _written("ids.csv.bz2", FileFormat.CSV, lambda: bz2.compress(_csv())),
    "xz": _written("ids.csv.xz", FileFormat.CSV, lambda: lzma.compress(_csv(), preset=0)),
    "JSON": _written("ids.jsonl", FileFormat.JSON_LINES, _json),
    "packed JSON": _written(
        "ids.jsonl.gz", FileFormat.JSON_LINES, lambda: gzip.compress(_json(), 1)
    ),
    "Avro": _avro,
    "files": _parts,
}
"""What has to be read before it is known."""


def _drawn(place: TableLocation, wanted: int = WANTED) -> tuple[list[int], list[str]]:
    table = Table(id=TableId("file", "ids"), title="ids", location=place, size=1)
    reading = read_table(table, Databases(), max_rows=wanted)
    ids = [int(row) for batch in reading.batches for row in batch["id"].to_pylist()]
    return ids, reading.notes


@pytest.mark.parametrize("name", [*TOLD, *ESTIMATED])
def test_rows_are_drawn_of_all_parts_of_a_table(name: str, tmp_path: Path) -> None:
    place = (TOLD | ESTIMATED)[name](tmp_path)
    ids, notes = _drawn(place)
    share = len(ids) / ROWS
    assert notes[-1] == f"read a sample of {share:.2%} of {ROWS} rows"
    assert len({*ids}) == len(ids) <= WANTED
    assert len(ids) == WANTED or name in ESTIMATED
    assert len(ids) > 0.98 * WANTED
    tenths = np.histogram(ids, bins=10, range=(0, ROWS))[0]
    assert tenths.min() > 0.85 * WANTED / 10
    assert tenths.max() < 1.15 * WANTED / 10


@pytest.mark.parametrize("name", ["Parquet", "CSV"])
def test_the_same_rows_are_drawn_every_time(name: str, tmp_path: Path) -> None:
    place = (TOLD | ESTIMATED)[name](tmp_path)
    assert _drawn(place) == _drawn(place)


def test_a_table_no_longer_than_wanted_is_read_whole(tmp_path: Path) -> None:
    assert _drawn(_parquet(tmp_path), ROWS) == ([*range(ROWS)], [])


def _reading(sizes: Sequence[int], told: float) -> TableStream:
    begins = np.cumsum([0, *sizes])
    batches = (
        pa.record_batch({"id": np.arange(begin, begin + size)})
        for begin, size in zip(begins, sizes, strict=False)
    )
    return TableStream((Column("id", 0),), batches, [], RowEstimate(told))


def _ids(reading: TableStream, rows: int, size: int = 1 << 30) -> list[int]:
    batches = draw(reading, max_rows=rows, max_bytes=size)
    return [row for batch in batches for row in batch["id"].to_pylist()]


@given(sizes=st.lists(st.integers(0, 50), min_size=1).filter(any), wanted=st.integers(1, 100))
def test_as_many_rows_are_drawn_as_are_wanted(sizes: list[int], wanted: int) -> None:
    reading = _reading(sizes, sum(sizes))
    ids = _ids(reading, wanted)
    assert len(ids) == len({*ids}) == min(wanted, sum(sizes))
    assert ids == sorted(ids)
    assert bool(reading.notes) == (wanted < sum(sizes))


def test_short_batches_have_rows_as_long_ones_do() -> None:
    ids = _ids(_reading([1] * 1000, 1000), 400)
    assert np.histogram(ids, bins=4, range=(0, 1000))[0].tolist() == pytest.approx(
        [100] * 4, abs=25
    )


@pytest.mark.parametrize("told", [500, 2_000])
def test_an_estimate_that_is_wrong_draws_rows_all_the_same(told: int) -> None:
    reading = _reading([100] * 10, told)
    ids = _ids(reading, 200)
    assert 0 < len(ids) <= 200
    assert reading.notes == [f"read a sample of {len(ids) / 1000:.2%} of 1000 rows"]


def test_of_a_table_that_does_not_tell_its_length_the_first_rows_are_read() -> None:
    reading = _reading([10, 10, 10], 0)
    assert _ids(reading, 15) == [*range(15)]
    assert reading.notes == ["read up to row 15; there are more"]


def test_what_bytes_leave_room_for_is_drawn_from() -> None:
    reading = _reading([100] * 10, 1000)
    ids = _ids(reading, 50, size=8 * 500)
    assert len(ids) == 50
    assert 400 < max(ids) < 500
    assert reading.notes == [
        "read up to row 500; there are more",
        "read a sample of 10.00% of 500 rows",
    ]


@pytest.mark.parametrize(
    "column",
    [
        *(pa.array(["a", "b"] * 50, one) for one in (pa.string_view(), pa.large_string())),
        pa.array(["a", "b"] * 50).dictionary_encode(),
        pa.array(np.array([0.5, 2.0] * 50, np.float16)),
        *(
            pa.array([0, 1] * 50, one)
            for one in (pa.date32(), pa.time64("us"), pa.timestamp("ms", "UTC"), pa.duration("s"))
        ),
        pa.array([True, False] * 50),
        pa.nulls(100),
    ],
    ids=lambda column: str(column.type),
)
def test_rows_of_any_type_are_drawn(column: pa.Array) -> None:
    batch = pa.record_batch({"of": column})
    reading = TableStream((Column("of", 0),), (one for one in [batch]), [], RowEstimate(100))
    [drawn] = draw(reading, max_rows=20, max_bytes=1 << 30)
    assert len(drawn) == 20
    assert {*texts_of(drawn["of"]).to_pylist()} == {*texts_of(column).to_pylist()}


def test_a_row_is_read_however_large_it_is() -> None:
    assert _ids(_reading([5], 5), 9, size=1) == [0]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(EmptyTableError, match="has a header and no rows"):
        _ids(_reading([0], 0), 9)
