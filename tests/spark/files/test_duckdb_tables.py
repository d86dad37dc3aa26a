"""Test that tables and views in DuckDB files are read, and that no view can read another file."""

from pathlib import Path

import duckdb
import pytest

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.duckdb_tables import DuckDbFile
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId


def opened(path: Path, name: str, paths: list[str] | None = None) -> TableStream:
    location = File(uri=str(path), format="duckdb", member=("main", name))
    table = Table(id=TableId("file", name), title=name, location=location, size=1)
    return read_table(table, Databases(), max_rows=10_000, paths=paths)


def rows_of(stream: TableStream) -> list[dict[str, object]]:
    return [row for batch in stream.batches for row in batch.to_pylist()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"""
            CREATE TABLE many AS SELECT range AS id, 'C' || range AS code FROM range(5000);
            CREATE TABLE odd AS SELECT
                '0012'::VARCHAR AS zip, 170141183460469231731687303715884105727::HUGEINT AS huge,
                INTERVAL 2 DAY AS wait, TIME '12:30:00' AS at, 'a'::ENUM('a', 'b') AS kind,
                {{'city': 'Oslo', 'x': [1.5]}} AS place, [0.5, 2] AS list, 'x'::BLOB AS raw,
                DATE '2024-02-29' AS day, 1.50::DECIMAL(9, 2) AS price,
                NULL::INTEGER AS "no ""name";
            CREATE VIEW names AS SELECT code FROM many LIMIT 2;
            CREATE VIEW stolen AS FROM read_csv('{secret}');
            """
        )
    return path


def test_tables_and_views_are_read(file: Path) -> None:
    assert DuckDbFile().list_members(file) == [
        *(("main", name) for name in ("many", "names", "odd", "stolen"))
    ]
    assert ("main", "names") not in DuckDbFile().list_members(file, views=False)
    many = opened(file, "many", ["id"])
    assert many.extent.rows == 5000
    assert rows_of(many) == [{"id": at} for at in range(5000)]
    assert rows_of(opened(file, "names")) == [{"code": "C0"}, {"code": "C1"}]


def test_values_of_every_type_are_read(file: Path) -> None:
    stream = opened(file, "odd")
    [row] = rows_of(stream)
    assert {name: str(value) for name, value in row.items()} == {
        "zip": "0012",
        "huge": "170141183460469231731687303715884105727",
        "wait": "2 days",
        "at": "12:30:00",
        "kind": "a",
        "place.city": "Oslo",
        "day": "2024-02-29",
        "price": "1.50",
        'no "name': "None",
        "raw": "78",
    }
    assert stream.notes == [
        "columns not compared, because they hold lists, maps or bytes: 'place.x', 'list'"
    ]
    assert len(rows_of(opened(file, "odd", ["list"]))) == 1


def test_a_view_reads_no_other_file(file: Path) -> None:
    with pytest.raises(UnreadableTableError, match="DuckDB reports a PermissionException"):
        opened(file, "stolen")


def test_a_table_that_is_gone_is_told(file: Path) -> None:
    with pytest.raises(UnreadableTableError, match=r"reports a CatalogException\. Fix the file"):
        opened(file, "gone")
