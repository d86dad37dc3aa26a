"""Test that joins of a rearranged lake are compared with those of the lake as it is."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.bench_order import main
from benchmarks.rearranged_lake import rename_folder, shuffle_columns, shuffle_rows
from lakes.handmade import draw, numbers


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    customers = numbers(101, 161)
    orders = zip(numbers(5000, 5100), draw(customers, 100), strict=True)
    files = {
        "shop/customer.csv": ["customer_id", *customers],
        "shop/order.csv": ["code,customer_id", *map(",".join, orders)],
    }
    for name, lines in files.items():
        file = tmp_path / "lake" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path / "lake"


def test_a_row_counts_what_each_change_costs(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(lake), "--only", "columns", "folder", "--seeds", "1"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["none", "columns", "folder"]
    assert {tuple(row[-6:]) for row in rows} == {("1", "0", "0", "0", "0", "0")}


def test_a_lake_that_is_missing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path / "absent")])
    assert f"{tmp_path / 'absent'} is no folder" in capsys.readouterr().err


def test_only_the_order_changes(lake: Path) -> None:
    file, random = lake / "shop" / "order.csv", np.random.default_rng(0)
    before = [line.split(",") for line in file.read_text("utf-8").splitlines()]
    shuffle_columns(lake, random)
    shuffle_rows(lake, random)
    after = [line.split(",") for line in file.read_text("utf-8").splitlines()]
    assert before != after
    assert sorted(map(sorted, before)) == sorted(map(sorted, after))


def test_a_renamed_folder_is_mapped_back(lake: Path) -> None:
    renamed = rename_folder(lake, np.random.default_rng(0))
    assert sorted(renamed.values()) == ["shop/customer.csv", "shop/order.csv"]
    assert all((lake / name).exists() for name in renamed)
