"""Test that references are counted in each copy of a lake."""

from pathlib import Path

import pytest

from benchmarks.bench_copies import main
from lakes.handmade import draw, numbers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A labelled lake in which orders refer to customers."""
    customers = numbers(1, 61)
    orders = zip(numbers(5000, 5100), draw(customers, 100), strict=True)
    files = {
        "tables/customer.csv": ["customer_id", *customers],
        "tables/order.csv": ["code,customer_id", *map(",".join, orders)],
        "queries.csv": ["table,column", "order,customer_id"],
        "ground_truth.csv": [
            "query_table,query_column,candidate_table,candidate_column,kind",
            "order,customer_id,customer,customer_id,fk",
        ],
        "references.csv": [
            "from_table,from_column,to_table,to_column,direction",
            "order,customer_id,customer,customer_id,unique",
        ],
    }
    for name, lines in files.items():
        file = tmp_path / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path / "shop"


def test_each_copy_has_its_reference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(folder), "--copies", "1", "4"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [["shop", "1", "100.0%", "0.0", "0.0"], ["shop", "4", "100.0%", "0.0", "0.0"]]


def test_a_folder_without_references_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "references.csv" in capsys.readouterr().err
