"""Make small undamaged tables in every format that is read without Spark."""

import bz2
import gzip
import json
import lzma
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyarrow import orc
from pyiceberg.catalog.sql import SqlCatalog

from datahub_hyperjoin.locations import DeltaFolder, File, IcebergFolder, TableLocation
from datahub_hyperjoin.tables import Table, TableId

ROWS = 60
_COLUMNS = pa.table(
    {
        "id": pa.array(range(ROWS)),
        "land": [("NO", "CH", "DE", None)[at % 4] for at in range(ROWS)],
        "share": [at / 7 for at in range(ROWS)],
        "home": [{"city": f"Town {at % 9}", "at": {"lat": at / 3}} for at in range(ROWS)],
        "tags": [[f"t{at}", "é€"] for at in range(ROWS)],
        "day": pa.array(range(ROWS), pa.int32()).cast(pa.date32()),
        "time": pa.array(range(ROWS), pa.timestamp("us")),
    }
)
_AVRO = {
    "type": "record",
    "name": "people",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "land", "type": ["null", "string"]},
        {"name": "share", "type": "double"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    ],
}


@dataclass(frozen=True)
class Sample:
    """A table on disk, and the files that may be damaged."""

    table: Table
    files: tuple[Path, ...]


def table_of(path: Path, location: TableLocation) -> Table:
    """Return the table that the catalog would list for a file or a folder."""
    return Table(id=TableId("file", path.name), title=path.name, location=location, size=1)


def _file(path: Path, format_: str, content: bytes) -> Sample:
    path.write_bytes(content)
    return Sample(table_of(path, File(uri=str(path), format=format_)), (path,))


def csv_text() -> bytes:
    """Return CSV text with quotes, foreign letters, empty cells and a line break in a cell."""
    rows = (f'{at},"Tøwn, {at % 9}",{at / 7},2024-01-{at % 28 + 1:02},' for at in range(ROWS))
    return "\n".join(["id,town,share,day,note", *rows, '99,"a\nb",,,"say ""hi"""', ""]).encode()


def text_files(folder: Path) -> list[Sample]:
    """Write delimited text files, and JSON files in several layouts."""
    rows = _COLUMNS.drop_columns(["day", "time"]).to_pylist()
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    text = csv_text()
    return [
        _file(folder / "array.json", "json", json.dumps(rows, indent=1).encode()),
        _file(folder / "columns.json", "json", json.dumps(columns).encode()),
        _file(folder / "plain.csv", "csv", text),
        _file(folder / "wide.csv", "csv", text.decode().encode("utf-16")),
        _file(folder / "tabs.tsv", "tsv", text.replace(b",", b"\t")),
        _file(folder / "lines.jsonl", "jsonl", lines),
        _file(folder / "more.jsonl", "jsonl", lines),
    ]


def compressed_files(folder: Path) -> list[Sample]:
    """Write compressed text files."""
    text = csv_text()
    packed = {
        "gz": gzip.compress(text, mtime=0),
        "bz2": bz2.compress(text),
        "xz": lzma.compress(text),
        **{
            ending: pa.Codec(name).compress(text, asbytes=True)
            for ending, name in (("zst", "zstd"), ("lz4", "lz4"), ("br", "brotli"))
        },
    }
    return [
        _file(folder / f"text.csv.{ending}", "csv", content) for ending, content in packed.items()
    ]


def parquet_files(folder: Path) -> list[Sample]:
    """Write Parquet files in several encodings."""
    samples = []
    for codec in ("none", "snappy", "zstd"):
        path = folder / f"{codec}.parquet"
        pq.write_table(
            _COLUMNS, path, compression=codec, row_group_size=25, use_dictionary=codec != "zstd"
        )
        samples.append(_file(path, "parquet", path.read_bytes()))
    return samples


def orc_files(folder: Path) -> list[Sample]:
    """Write ORC files in several encodings."""
    samples = []
    for codec in ("uncompressed", "zlib", "zstd"):
        path = folder / f"{codec}.orc"
        orc.write_table(_COLUMNS, path, compression=codec)
        samples.append(_file(path, "orc", path.read_bytes()))
    return samples


def avro_files(folder: Path) -> list[Sample]:
    """Write Avro files in several encodings."""
    rows = _COLUMNS.select(["id", "land", "share", "tags", "day"]).to_pylist()
    samples = []
    for codec in ("null", "deflate", "bzip2"):
        path = folder / f"{codec}.avro"
        with path.open("wb") as file:
            fastavro.writer(file, _AVRO, rows, codec=codec, sync_interval=400)
        samples.append(_file(path, "avro", path.read_bytes()))
    return samples


def delta_tables(folder: Path) -> list[Sample]:
    """Write a Delta table; return a sample of its log files, and a sample of its data files."""
    path = folder / "delta"
    for mode in ("overwrite", "append", "append"):
        write_deltalake(path, _COLUMNS, partition_by=["land"], mode=mode)
    log = path / "_delta_log"
    return [
        Sample(table_of(path, DeltaFolder(uri=str(path))), _files(log.glob("*.json"))),
        Sample(table_of(path, DeltaFolder(uri=str(path))), _files(path.rglob("*.parquet"))),
    ]


def iceberg_tables(folder: Path) -> list[Sample]:
    """Write an Iceberg table of several snapshots."""
    warehouse = f"file://{folder}/lake"
    catalog = SqlCatalog("faults", uri=f"sqlite:///{folder}/catalog.db", warehouse=warehouse)
    catalog.create_namespace("shop")
    columns = _COLUMNS.drop_columns(["time"])
    table = catalog.create_table("shop.people", schema=columns.schema)
    for _ in range(2):
        table.append(columns)
    catalog.engine.dispose()
    path = Path(table.location().removeprefix("file://"))
    newest = Path(table.metadata_location.removeprefix("file://"))
    location = IcebergFolder(uri=str(path))
    return [
        Sample(table_of(path, location), (newest,)),
        Sample(table_of(path, location), _files((path / "metadata").glob("*.avro"))),
        Sample(table_of(path, location), _files(path.rglob("*.parquet"))),
    ]


def _files(found: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(sorted(found))
