"""Test that the benchmark counts what a second run writes."""

from pathlib import Path

from benchmarks.bench_rewritten import change, compare


def write(folder: Path) -> Path:
    lake = folder / "shop" / "tables"
    lake.mkdir(parents=True)
    codes = [f"B-{number:03}" for number in range(40)]
    (lake / "articles.csv").write_text("\n".join(["article", *codes]))
    (lake / "orders.csv").write_text("\n".join(["article", *(codes[:30] * 4)]))
    towns = [f"Town {number}" for number in range(30)]
    (lake / "towns.csv").write_text("\n".join(["town", *towns]))
    (lake / "visits.csv").write_text("\n".join(["town", *(towns * 2)]))
    return lake


def test_what_a_changed_table_needs_is_rewritten(tmp_path: Path) -> None:
    rows = {row[1]: row for row in compare(write(tmp_path), 1)}
    assert [*rows] == ["erModelRelationship", "dataset", "schemaField"]
    assert {row[0] for row in rows.values()} == {"shop"}
    # Articles lose rows. Their join with orders changes, and that of towns does not.
    assert rows["erModelRelationship"][2:] == ["4", "2 (50.0%)", "2"]
    assert rows["dataset"][2] == rows["schemaField"][2] == "4"


def test_changed_tables_lose_a_tenth_of_their_rows(tmp_path: Path) -> None:
    lake = write(tmp_path)
    assert change(lake, 2) == ["articles.csv", "towns.csv"]
    lines = [len((lake / name).read_text().splitlines()) for name in ("articles.csv", "orders.csv")]
    assert lines == [37, 121]
