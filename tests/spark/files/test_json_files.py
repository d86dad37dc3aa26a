"""Test that JSON files with a single array or object are read as tables."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.files import json_files
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId

Read = Callable[..., tuple[list[dict[str, Any]], list[str]]]
ROWS = [{"id": "1", "city": "Zürich"}, {"id": "2", "city": "Oslo"}]
CELLS = [[*row.values()] for row in ROWS]
METADATA = {"entityType": "query", "entityUrn": "u", "changeType": "UPSERT", "aspectName": "a"}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that writes a file and reads it as a table."""

    def read_text(
        text: str | bytes, name: str = "cities.json", paths: set[str] | None = None
    ) -> tuple[list[dict[str, Any]], list[str]]:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        location = File(uri=str(file), format="json")
        table = Table(id=TableId("file", name), title=name, location=location, size=1)
        stream = read_table(table, Databases(), max_rows=99_999, paths=paths)
        return [row for batch in stream.batches for row in batch.to_pylist()], stream.notes

    return read_text


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "\ufeff \n" + json.dumps(ROWS),
        "\n".join(map(json.dumps, ROWS)),
        json.dumps(ROWS[0], indent=2) + "\n" + json.dumps(ROWS[1], indent=2),
        json.dumps({"id": ["1", "2"], "city": ["Zürich", "Oslo"]}),
        json.dumps({"type": "cities", "count": 2, "features": ROWS}, indent=1),
        json.dumps({"id": {"0": "1", "1": "2"}, "city": {"0": "Zürich", "1": "Oslo"}}),
        json.dumps({"0": ROWS[0], "1": ROWS[1]}),
        json.dumps({"columns": ["id", "city"], "index": [0, 1], "data": CELLS}),
        json.dumps({"fields": [{"name": "id"}, {"name": "city"}], "rows": CELLS}),
        json.dumps({"meta": {"view": {"columns": ["id", "city"]}}, "data": CELLS}),
        json.dumps([["id", "city"], *CELLS]),
        json.dumps({"took": 5, "hits": {"total": 2, "hits": ROWS}}),
        json.dumps([{"type": "header"}, {"type": "table", "data": ROWS}]),
        json.dumps([ROWS[:1], ROWS[1:]]),
        "\n".join(json.dumps([row]) for row in ROWS),
        json.dumps(
            {
                "type": "FeatureCollection",
                "features": [
                    {"type": "Feature", "geometry": None, "properties": row} for row in ROWS
                ],
            }
        ),
        json.dumps(
            {
                "type": "Topology",
                "objects": {
                    "all": {"geometries": [{"arcs": [], "properties": row} for row in ROWS]}
                },
                "arcs": [[[1, 2], [3, 4]]],
            }
        ),
    ],
    ids=[
        *("array", "indented", "marked", "lines", "objects", "columns", "wrapped"),
        *("pandas columns", "pandas index", "pandas split", "fields", "names apart", "lists"),
        *("deep", "one of two", "arrays in an array", "arrays", "geojson", "topojson"),
    ],
)
def test_tables_are_read_from_json_of_every_form(read: Read, text: str) -> None:
    assert read(text) == (ROWS, [])
    assert read(text, paths={"city"})[0] == [{"city": "Zürich"}, {"city": "Oslo"}]
    assert read(gzip.compress(text.encode()), "cities.json.gz") == (ROWS, [])


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("wrap", [lambda whole: whole, lambda whole: {"n": 3, "cities": whole}])
def test_keys_of_rows_are_a_column(
    read: Read, indent: int | None, wrap: Callable[[object], object]
) -> None:
    cities = {"Z": {"city": "Zürich", "n": 1}, "O": {"city": "Oslo", "n": 2, "at": {"lat": 5}}}
    rows = [
        {"key": "Z", "city": "Zürich", "n": 1, "at.lat": None},
        {"key": "O", "city": "Oslo", "n": 2, "at.lat": 5},
    ]
    assert read(json.dumps(wrap(cities), indent=indent)) == (rows, [])


def test_labels_of_rows_that_pandas_writes_are_a_column(read: Read) -> None:
    rows = [{"key": "x", "a": 1, "b": "u"}, {"key": "y", "a": 2, "b": "v"}]
    columns = {"a": {"x": 1, "y": 2}, "b": {"x": "u", "y": "v"}}
    assert read(json.dumps(columns)) == (rows, [])
    split = {"columns": ["a", "b"], "index": ["x", "y"], "data": [[1, "u"], [2, "v"]]}
    assert read(json.dumps(split)) == (rows, [])


def test_one_value_under_each_code_is_a_row(read: Read) -> None:
    cities = {f"Z{at}": f"city {at}" for at in range(10)}
    rows = [{"key": key, "value": value} for key, value in cities.items()]
    assert read(json.dumps(cities)) == (rows, [])
    record = dict(zip("abcdefghij", "klmnopqrst", strict=True)) | {"name": "u"}
    assert read(json.dumps(record)) == ([record], [])


def test_rows_under_each_code_have_it_in_a_column(read: Read) -> None:
    text = json.dumps({"2023": [{"id": 1}, {"id": 2}], "2024": [{"id": 3}]})
    rows = [{"key": "2023", "id": 1}, {"key": "2023", "id": 2}, {"key": "2024", "id": 3}]
    assert read(text) == (rows, [])


def test_arrays_without_names_have_numbered_columns(read: Read) -> None:
    rows = [{"column0": f"Z{at}", "column1": "Oslo"} for at in range(3)]
    assert read(json.dumps([[*row.values()] for row in rows])) == (rows, [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("layout", ["lines", "array"])
def test_json_in_wide_characters_is_read(read: Read, encoding: str, layout: str) -> None:
    lines = "\n".join(map(json.dumps, ROWS))
    text = lines if layout == "lines" else json.dumps({"cities": ROWS})
    assert read(text.encode(encoding)) == (ROWS, [])


@pytest.mark.parametrize(("before", "after"), [("", ",\r"), ("\x1e", "")])
def test_lines_may_have_signs_around_the_object(read: Read, before: str, after: str) -> None:
    rows, [note] = read("".join(f"{before}{json.dumps(row)}{after}\n" for row in ROWS))
    assert rows == ROWS
    assert note.startswith("read line by line: JSON parse error")


def test_an_array_named_as_json_lines_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cities.jsonl"
    file.write_text(json.dumps(ROWS, indent=1))
    location = File(uri=str(file), format="jsonl")
    table = Table(id=TableId("file", "c"), title="c", location=location, size=1)
    stream = read_table(table, Databases(), max_rows=9)
    assert [row for batch in stream.batches for row in batch.to_pylist()] == ROWS


@pytest.mark.parametrize("text", ['[{"": 1, "a": 2}]', '{"": 1, "a": 2}'])
def test_a_column_without_a_name_is_kept(read: Read, text: str) -> None:
    note = "columns without a name are called by their places: 'column_1'"
    assert read(text) == ([{"column_1": 1, "a": 2}], [note])


@pytest.mark.parametrize(
    "large", [2**53 + 1, 2**64 - 1, 11898508762506083287, 10**30 + 1, -(2**63) - 1]
)
@pytest.mark.parametrize("layout", ["lines", "array"])
def test_integers_keep_all_digits(read: Read, layout: str, large: int) -> None:
    rows = [{"id": large, "x": 0.5}, {"id": large + 2, "x": 1.5}, {"id": 7, "x": None}]
    text = "\n".join(map(json.dumps, rows)) if layout == "lines" else json.dumps(rows)
    found, notes = read(text)
    assert [int(row["id"]) for row in found] == [large, large + 2, 7]
    assert notes == []


def test_integers_among_fractions_keep_all_digits(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "_BLOCK", 256)
    text = '{"id": 0.5}\n' * 99 + '{"id": 9007199254740993}\n{"id": 123456789012345678901}\n'
    found, _ = read(text)
    assert [str(row["id"]) for row in found[-2:]] == ["9007199254740993", "123456789012345678901"]
    assert len(found) == 101


def test_values_are_read_as_in_json_lines(read: Read) -> None:
    row = {"a": 1, "b": 1.5, "c": True, "d": {"e": "x", "f": None}, "g": [1.5, 2], "h": 2.0}
    rows, notes = read(json.dumps([row, {"a": 2, "z": 3}]))
    assert rows == [
        {"a": 1, "b": 1.5, "c": True, "d.e": "x", "d.f": None, "h": 2, "z": None},
        {"a": 2, "b": None, "c": None, "d.e": None, "d.f": None, "h": None, "z": 3},
    ]
    assert notes == ["columns not compared, because they hold lists, maps or bytes: 'g'"]


def test_an_array_longer_than_a_block_is_read_whole(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "_BLOCK", 64)
    rows = [{"id": str(at), "text": 'ü[{]}\\",' * (at % 30)} for at in range(200)]
    for indent in (None, 1):
        assert read(json.dumps(rows, indent=indent, ensure_ascii=indent is None))[0] == rows


def test_elements_that_are_no_objects_cost_only_themselves(read: Read) -> None:
    deep = "[" * 300 + "]" * 300
    text = f'[{{"id": 1}}, 7, {{"id": {deep}}}, {{"id": 2}}, {{"id": 3}}]'
    assert read(text) == (
        [{"id": 1}, {"id": 2}, {"id": 3}],
        ["skipped elements that are not JSON objects: 2"],
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2, 3]", "most elements of its array are not JSON objects"),
        ('{"name": "me",\n"tabs": 4}', "holds one JSON object, which is no table. Write rows"),
        ('{"a": [1, 2],\n"b": [1]}', "holds one JSON object, which is no table. Write rows"),
        ('{"a": [{"x": 1}], "b": [{"x": 1}]}', "it holds several tables, 'a', 'b'. Write each"),
        (
            json.dumps({name: {"x": {"i": 1}, "y": {"i": 2}} for name in "ab"} | {"c": 1}),
            "it holds several tables, 'a', 'b'. Write each",
        ),
        ('{"scripts": {"test": "x"},\n"paths": {"src": "y"}}', "holds one JSON object, which is"),
        ('[{"id": 1}, {"id": }]', "its JSON is invalid: Expecting value"),
        ('[{"id": 1}, {"id": 2', "its JSON ends in the middle of a value"),
        ("name,id", "it holds no JSON"),
        (json.dumps([METADATA]), "holds metadata that DataHub's `file` sink wrote. Keep it in"),
        ("[" * 100_000, "nested more than 200 levels deep"),
        ('{"a":' * 100_000, "nested more than 200 levels deep"),
    ],
)
def test_other_json_is_refused_with_the_reason(read: Read, text: str, reason: str) -> None:
    with pytest.raises(UnreadableTableError, match=reason):
        read(text)


@pytest.mark.parametrize("text", ["[]", " [ ] ", "\n"])
def test_an_empty_array_is_an_empty_table(read: Read, text: str) -> None:
    with pytest.raises(EmptyTableError):
        read(text)


def test_a_large_object_is_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "_BLOCK", 64)
    monkeypatch.setattr(json_files, "_LARGEST", 1 << 10)
    with pytest.raises(UnreadableTableError, match="Write its rows as JSON Lines"):
        read(json.dumps({"features": [{"id": at} for at in range(400)]}))
    with pytest.raises(UnreadableTableError, match="longer than 1,024 characters"):
        read(json.dumps([{"id": 1}, {"id": "x" * 4000}]))


def test_a_folder_of_json_files_is_one_table(tmp_path: Path) -> None:
    for part, row in enumerate(ROWS):
        tmp_path.joinpath(f"part-{part}.json").write_text(json.dumps(row) + "\n")
    folder = Folder(uri=str(tmp_path), format="json", parts=("part-0.json", "part-1.json"))
    table = Table(id=TableId("file", "cities"), title="cities", location=folder, size=1)
    stream = read_table(table, Databases(), max_rows=99)
    rows = [row for batch in stream.batches for row in batch.to_pylist()]
    assert sorted(rows, key=str) == sorted(ROWS, key=str)
