"""Test that files of object stores are read like local files.

Of a Parquet file, only the requested columns are read.
"""

import bz2
import gzip
from collections.abc import Collection, Iterator
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from datahub_hyperjoin.catalog.folders import scan_folder, scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.files.stored import StoredFile, bytes_of
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId
from lakes.workbooks import write_workbook
from services.stores import S3Server, refuse_warning, running_s3

CITIES = "id;city\n1;Köln\n2;Zürich\n3;\n"
LINES = b'{"id": 1, "home": {"city": "Oslo"}}\n{"id": 2, "home": null}\n'
WIDTHS = "column,start,length\nid,1,2\ncity,3,6\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with running_s3(monkeypatch) as server:
        yield server


def write_lake(folder: Path) -> None:
    """Write a table in each format, and a table that consists of several files."""
    ids = pa.table({"id": range(5), "word": list("abcde")})
    files = {
        "cities.csv": CITIES.encode(),
        "a b%[1].csv": CITIES.encode("cp1252"),
        "cities.csv.gz": gzip.compress(CITIES.encode() * 9000),
        "cities.tsv.bz2": bz2.compress(CITIES.replace(";", "\t").encode()),
        "lines.jsonl": LINES,
        "list.json": b'[{"id": 1}, {"id": 2}]',
        "fixed.fwf": b"1 Oslo  \n2 Bern  \n",
        "fixed.fwf.schema": WIDTHS.encode(),
        "orders/year=2023/part-0.csv": b"id,code\n1,NA\n2,DE\n",
        "orders/year=2024/part-0.csv": b"id,code\n3,NA\n",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    pq.write_table(ids, folder / "ids.parquet")
    orc.write_table(ids, folder / "ids.orc")
    fields = [{"name": "id", "type": "long"}]
    with (folder / "ids.avro").open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [{"id": 7}])
    write_workbook(folder / "book.xlsx", {"Orders": [["id", "word"], [1, "x"], [2, "y"]]})


def content(
    table: Table, paths: Collection[str] | None = None
) -> tuple[object, list[str], float, list[pa.RecordBatch]]:
    stream = read_table(table, Databases(), max_rows=1000, paths=paths)
    batches = [*stream.batches]
    return stream.columns, stream.notes, stream.extent.rows, batches


def test_each_format_is_read_like_a_local_file(server: S3Server, tmp_path: Path) -> None:
    write_lake(tmp_path)
    uri = server.upload(tmp_path)
    selection = TableSelection(platform="file", env="PROD")
    near = scan_folder(tmp_path, selection, warn=refuse_warning)
    far = scan_stored_folder("key", uri, server.store, selection, warn=refuse_warning)
    assert [table.id for table in far] == [table.id for table in near]
    assert len(near) == 12
    for local, stored in zip(near, far, strict=True):
        assert content(stored) == content(local), local.id
        assert stored.size == local.size


def test_of_a_parquet_file_only_the_requested_columns_are_read(
    server: S3Server, tmp_path: Path
) -> None:
    rows = 100_000
    wide = {f"c{at}": pa.array(range(at, at + rows)) for at in range(20)}
    file = tmp_path / "wide.parquet"
    pq.write_table(pa.table(wide), file, row_group_size=rows // 4, use_dictionary=False)
    uri = f"{server.upload(tmp_path)}/wide.parquet"
    location = File(uri=uri, format="parquet", store=server.store)
    table = Table(id=TableId("s3", "wide"), title="wide", location=location, size=9)
    server.forget()
    *_, batches = content(table, ["c3"])
    assert sum(map(len, batches)) == 1000
    assert 0 < server.bytes_read < file.stat().st_size / 10


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "avro"])
def test_a_file_that_is_gone_is_an_error_of_its_table(server: S3Server, suffix: str) -> None:
    location = File(uri=f"s3://lake/gone.{suffix}", format=suffix, store=server.store)
    table = Table(id=TableId("s3", "gone"), title="gone", location=location, size=9)
    with pytest.raises(TableError, match=r"cannot be read: .*not.*(exist|found)"):
        content(table)


def test_a_stored_file_tells_its_size_and_names_its_neighbours(
    server: S3Server, tmp_path: Path
) -> None:
    write_lake(tmp_path)
    file = StoredFile(f"{server.upload(tmp_path)}/cities.csv.gz", server.store)
    assert (file.name, file.stem, file.suffix) == ("cities.csv.gz", "cities.csv", ".gz")
    assert bytes_of(file.with_name("cities.csv")) == len(CITIES.encode())
