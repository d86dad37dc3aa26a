"""Test that a folder of files is read as one table."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.locations import Folder
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId

NOWHERE = Databases()
CONFIG = ProfileConfig()

Write = Callable[[dict[str, pa.Table | str]], Table]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes the files of a table into a folder."""

    def make(parts: dict[str, pa.Table | str]) -> Table:
        folder = tmp_path / "orders"
        for name, content in parts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.write_text(content)
            else:
                pq.write_table(content, path)
        layout = next(iter(parts)).rpartition(".")[2]
        location = Folder(uri=str(folder), format=layout, parts=tuple(parts))
        return Table(id=TableId("file", "orders"), title="orders", location=location, size=1)

    return make


def rows_of(table: Table, paths: Sequence[str] | None = None) -> tuple[list[object], list[str]]:
    stream = read_table(table, NOWHERE, max_rows=10_000, paths=paths)
    rows = [row for batch in stream.batches for row in batch.to_pylist()]
    assert all(list(row) == [column.path for column in stream.columns] for row in rows)
    return sorted(rows, key=str), stream.notes


def test_names_of_columns_may_differ_in_case(write: Write) -> None:
    table = write({"0.csv": "id,name\n1,a\n", "1.csv": "NAME,ID\nb,2\n", "2.csv": "Id\n3\n"})
    stream = read_table(table, NOWHERE, max_rows=10)
    stream.batches.close()
    key = next(each.path for each in stream.columns if each.path.casefold() == "id")
    for paths in (None, [key]):
        rows = read_table(table, NOWHERE, max_rows=10, paths=paths).batches
        assert sorted(cell for batch in rows for cell in batch[key].to_pylist()) == ["1", "2", "3"]


def test_partition_keys_are_columns(write: Write) -> None:
    table = write(
        {
            "year=2024/land=S%C3%A3o/0.parquet": pa.table({"id": [1, 2]}),
            "year=2025/land=__HIVE_DEFAULT_PARTITION__/0.parquet": pa.table({"id": [3]}),
        }
    )
    assert rows_of(table) == (
        [
            {"id": 1, "year": "2024", "land": "São"},
            {"id": 2, "year": "2024", "land": "São"},
            {"id": 3, "year": "2025", "land": None},
        ],
        [],
    )
    assert rows_of(table, ["year"])[0] == [{"year": "2024"}, {"year": "2024"}, {"year": "2025"}]
    assert rows_of(table, ["id"])[0] == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_a_column_that_a_file_lacks_is_null(write: Write) -> None:
    both, one = "id,note\n1,a\n", "id\n2\n"
    table = write({"x=1/0.csv": both, "x=2/0.csv": one})
    rows, notes = rows_of(table)
    assert notes == []
    assert rows in (
        [{"id": "1", "note": "a", "x": "1"}, {"id": "2", "note": None, "x": "2"}],
        [{"id": "1", "x": "1"}, {"id": "2", "x": "2"}],
    )


def test_unreadable_files_are_skipped_with_a_note(write: Write) -> None:
    table = write({"0.csv": "id\n1\n", "1.csv": "", "2.csv": "\0\1\0\1", "3.csv": "id\n4\n"})
    rows, notes = rows_of(table)
    assert rows == [{"id": "1"}, {"id": "4"}]
    [note] = notes
    assert note.startswith("skipped files: 1, for example 2.csv cannot be read: its bytes are no")


def test_a_table_without_readable_files_has_the_first_error(write: Write) -> None:
    with pytest.raises(UnreadableTableError, match="its bytes are not text"):
        read_table(write({"0.csv": "\0\1\0\1"}), NOWHERE, max_rows=9)


def test_a_sample_comes_from_all_files(write: Write) -> None:
    parts = {f"day={day:03}/0.csv": f"id\n{day}\n" for day in range(100)}
    stream = read_table(write(parts), NOWHERE, max_rows=20)
    days = [row["day"] for batch in stream.batches for row in batch.to_pylist()]
    assert len(days) == 20
    assert stream.notes == ["read a sample of 20.00% of 100 rows"]
    assert min(days) < "020"
    assert max(days) > "079"
    again = read_table(write(parts), NOWHERE, max_rows=20)
    assert [row["day"] for batch in again.batches for row in batch.to_pylist()] == days


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9), min_size=1))
def test_the_profile_of_a_folder_equals_that_of_one_file(
    write: Write, parts: list[list[str]]
) -> None:
    values = [value for part in parts for value in part]
    many = write({f"{at}.csv": "v\n" + "\n".join(part) + "\n" for at, part in enumerate(parts)})
    one = write({"all/whole.csv": "v\n" + "\n".join(values) + "\n"})
    split, whole = (profile_table(table, CONFIG, NOWHERE) for table in (many, one))
    assert split.rows == whole.rows == len(values)
    assert split.columns[0] == whole.columns[0]
