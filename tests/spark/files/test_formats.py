"""Test that a table is read in the same way from every format, compressed or not."""

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import orc
from pyarrow import parquet as pq

from datahub_hyperjoin.locations import DeltaFolder, File
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError, MissingReaderError, UnreadableTableError
from datahub_hyperjoin.spark.files.formats import usual_endings
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import DataType, Table, TableId

ROWS = [{"id": "1", "city": "Zürich"}, {"id": "2", "city": "Oslo"}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TEXTS = {"csv": "id,city\n1,Zürich\n2,Oslo\n", "jsonl": LINES}


def table(path: Path, layout: str) -> Table:
    location = File(uri=str(path), format=layout)
    return Table(id=TableId("file", path.name), title=path.stem, location=location, size=1)


def rows_of(table_: Table) -> tuple[list[object], list[str]]:
    stream = read_table(table_, Databases(), max_rows=99)
    return [row for batch in stream.batches for row in batch.to_pylist()], stream.notes


@pytest.mark.parametrize("layout", TEXTS)
@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", partial(pa.compress, codec="zstd", asbytes=True)),
        (".lz4", partial(pa.compress, codec="lz4", asbytes=True)),
        (".br", partial(pa.compress, codec="brotli", asbytes=True)),
    ],
)
def test_compressed_text_is_decompressed(
    tmp_path: Path, layout: str, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"cities{ending}"
    path.write_bytes(pack(TEXTS[layout].encode()))
    assert rows_of(table(path, layout)) == (ROWS, [])


@pytest.mark.parametrize("layout", TEXTS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_the_content_shows_how_a_file_is_compressed(
    tmp_path: Path, layout: str, pack: Callable[[bytes], bytes], ending: str
) -> None:
    path = tmp_path / f"cities{ending}"
    path.write_bytes(pack(TEXTS[layout].encode()))
    assert rows_of(table(path, layout)) == (ROWS, [])


@pytest.mark.parametrize("layout", ["orc", "jsonl"])
def test_members_of_structs_are_columns(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "people"
    people = [
        {"id": 1, "home": {"city": "Oslo", "at": {"lat": 59.5}}, "tags": ["a", "b"], "sizes": [0.5]}
    ]
    if layout == "orc":
        orc.write_table(pa.Table.from_pylist(people), path)
    else:
        path.write_text(json.dumps(people[0]) + "\n")
    stream = read_table(table(path, layout), Databases(), max_rows=99)
    rows = [row for batch in stream.batches for row in batch.to_pylist()]
    assert rows == [{"id": 1, "home.city": "Oslo", "home.at.lat": 59.5, "tags": "[a, b]"}]
    assert [(column.path, column.opaque) for column in stream.columns][-1] == (
        "sizes",
        DataType.NESTED,
    )
    assert stream.notes == ["columns not compared, because they hold lists, maps or bytes: 'sizes'"]
    some = read_table(table(path, layout), Databases(), max_rows=99, paths=["home.city"])
    assert [row for batch in some.batches for row in batch.to_pylist()] == [{"home.city": "Oslo"}]


def test_an_orc_file_of_many_stripes_is_read_whole(tmp_path: Path) -> None:
    numbers = pa.table({"n": range(300_000), "text": [f"value {at}" for at in range(300_000)]})
    orc.write_table(numbers, tmp_path / "n.orc", stripe_size=1 << 16)
    assert orc.ORCFile(tmp_path / "n.orc").nstripes > 1
    stream = read_table(table(tmp_path / "n.orc", "orc"), Databases(), max_rows=10**6)
    assert sum(map(len, stream.batches)) == 300_000


def test_rows_are_counted_without_comparable_columns(tmp_path: Path) -> None:
    orc.write_table(pa.table({"tags": [[0.5], [1.5]]}), tmp_path / "p.orc")
    stream = read_table(table(tmp_path / "p.orc", "orc"), Databases(), max_rows=9)
    assert [(len(batch), batch.num_columns) for batch in stream.batches] == [(2, 0)]


@pytest.mark.parametrize("layout", ["orc", "jsonl"])
def test_files_of_another_format_are_rejected(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"{not what it says}\n" * 9)
    with pytest.raises(UnreadableTableError, match=r"cannot be read: .*\. Fix the file"):
        rows_of(table(path, layout))
    path.write_bytes(b"")
    with pytest.raises(EmptyTableError, match="is an empty file"):
        rows_of(table(path, layout))


def test_the_latest_version_of_a_delta_table_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    people = {"id": [1, 2, 3], "land": ["NO", "CH", "CH"], "home": [{"city": "Oslo"}] * 3}
    write_deltalake(folder, pa.table(people), partition_by=["land"])
    more = pa.table({"id": [4], "land": ["IT"], "home": [{"city": "Rome"}]})
    write_deltalake(folder, more, mode="append")
    DeltaTable(folder).delete("id = 2")
    delta_table = replace(table(folder, "parquet"), location=DeltaFolder(uri=str(folder)))
    rows, notes = rows_of(delta_table)
    assert sorted(rows, key=str) == [
        {"id": 1, "land": "NO", "home.city": "Oslo"},
        {"id": 3, "land": "CH", "home.city": "Oslo"},
        {"id": 4, "land": "IT", "home.city": "Rome"},
    ]
    assert notes == []
    some = read_table(delta_table, Databases(), max_rows=99, paths=["land"])
    lands = [row["land"] for batch in some.batches for row in batch.to_pylist()]
    assert sorted(lands) == ["CH", "IT", "NO"]


def test_an_unreadable_delta_table_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delta_table = replace(table(tmp_path, "parquet"), location=DeltaFolder(uri=str(tmp_path)))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(UnreadableTableError, match=r"cannot be read: .*\. Fix the file"):
        rows_of(delta_table)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingReaderError, match=r"`pip install 'datahub-hyperjoin\[delta\]'`$"):
        rows_of(delta_table)


def test_messages_name_the_usual_ending_of_each_format() -> None:
    remote = ".csv, .tsv, .json, .jsonl, .parquet, .orc, .avro, .arrow or .dta"
    assert usual_endings(remote=True) == remote
    local = (
        ".csv, .tsv, .fwf, .json, .jsonl, .parquet, .orc, .avro, .arrow, .dta, .xlsx, .zip, "
        ".sqlite or .duckdb"
    )
    assert usual_endings(".sqlite", ".duckdb") == local


@pytest.mark.parametrize("layout", ["parquet", "orc", "jsonl"])
def test_lists_of_texts_and_whole_numbers_are_text(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "posts"
    posts = [{"tags": ["a", "b"], "ids": [1]}, {"tags": [], "ids": None}, {"tags": ["c", None]}]
    if layout == "jsonl":
        path.write_text("".join(json.dumps(post) + "\n" for post in posts))
    else:
        write = orc.write_table if layout == "orc" else pq.write_table
        write(pa.Table.from_pylist(posts), path)
    rows, notes = rows_of(table(path, layout))
    assert rows == [
        {"tags": "[a, b]", "ids": "[1]"},
        {"tags": None, "ids": None},
        {"tags": "[c, ]", "ids": None},
    ]
    assert notes == []
