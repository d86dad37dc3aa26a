"""Test that Arrow and Feather files are read."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.files.formats import format_of_suffix
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId

TABLE = pa.Table.from_arrays(
    [pa.array([1, 2]), pa.array([3, 4]), pa.array([{"city": "Oslo"}, None]), pa.array([[0.5], []])],
    ["id", "id", "home", "tags"],
)
ROWS = [{"id": 1, "id_2": 3, "home.city": "Oslo"}, {"id": 2, "id_2": 4, "home.city": None}]


def rows_of(path: Path, paths: set[str] | None = None) -> list[dict[str, object]]:
    location = File(uri=str(path), format="arrow")
    table = Table(id=TableId("file", path.name), title=path.stem, location=location, size=1)
    stream = read_table(table, Databases(), max_rows=1_000_000, paths=paths)
    return [row for batch in stream.batches for row in batch.to_pylist()]


def write(path: Path, table: pa.Table, suffix: str) -> Path:
    file = path / f"cities{suffix}"
    if suffix == ".feather":
        feather.write_feather(table, str(file), compression="lz4")
    else:
        new = pa.ipc.new_stream if suffix == ".arrows" else pa.ipc.new_file
        with new(str(file), table.schema) as writer:
            writer.write_table(table, max_chunksize=50_000)
    return file


@pytest.mark.parametrize("suffix", [".arrow", ".arrows", ".feather"])
def test_arrow_files_are_read(tmp_path: Path, suffix: str) -> None:
    table = TABLE if suffix != ".feather" else TABLE.rename_columns(["id", "id_2", "home", "tags"])
    path = write(tmp_path, table, suffix)
    found = format_of_suffix(suffix.upper())
    assert found is not None
    assert found.name == "arrow"
    assert rows_of(path) == ROWS
    assert rows_of(path, {"id_2"}) == [{"id_2": 3}, {"id_2": 4}]
    many = pa.table({"id": range(200_000)})
    assert len(rows_of(write(tmp_path, many, suffix))) == 200_000


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"FEA1" + b"x" * 99, "it has version 1 of Feather; write it again. Fix the file"),
        (b"nothing" * 9, "cannot be read: "),
        (b"ARROW1" + b"x" * 99, "cannot be read: "),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.arrow"
    path.write_bytes(content)
    with pytest.raises(UnreadableTableError, match=reason):
        rows_of(path)


def test_a_file_without_rows_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyTableError, match="has a header but no rows"):
        rows_of(write(tmp_path, TABLE.slice(0, 0), ".arrow"))
