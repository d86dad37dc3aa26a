"""Test which columns look like the key of their table."""

import pytest

from lakes.handmade import lake_of, numbers

COPIES = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("table", "columns", "expected"),
    [
        pytest.param(
            "orders",
            {"price": numbers(1, 5), "id": numbers(5, 9), "city": COPIES},
            ["id", "price", "city"],
            id="the name of an identifier",
        ),
        pytest.param(
            "orders",
            {"customer_id": COPIES, "order_no": numbers(1, 5)},
            ["order_no", "customer_id"],
            id="unique values",
        ),
        pytest.param(
            "order_items",
            {"code": ["w", "x", "y", "z"], "product_id": numbers(1, 5), "item_id": numbers(1, 5)},
            ["item_id", "code", "product_id"],
            id="the name of the table",
        ),
        pytest.param(
            "diagnoses",
            {"other_code": ["w", "x", "y", "z"], "diag_id": numbers(1, 5)},
            ["diag_id", "other_code"],
            id="an abbreviation of the table's name",
        ),
        pytest.param(
            "staff",
            {"title": ["w", "x", "y", "z"], "sid": numbers(1, 5)},
            ["sid", "title"],
            id="no name of a label",
        ),
        pytest.param(
            "lines",
            {"hits": ["1", "1", "2", "2"], "round": COPIES},
            ["round", "hits"],
            id="texts before numbers",
        ),
    ],
)
def test_a_key_is_known_by(table: str, columns: dict[str, list[str]], expected: list[str]) -> None:
    for order in (columns, dict(reversed(columns.items()))):
        lake = lake_of({table: order})
        ranked = sorted(range(len(lake)), key=lake.standing.__getitem__)
        assert [lake.ids[column].path for column in ranked] == expected
        assert sorted(lake.standing.tolist()) == [*range(len(lake))]


def test_each_table_has_its_own_order() -> None:
    lake = lake_of({"a": {"x": COPIES, "id": numbers(1, 5)}, "b": {"id": numbers(1, 5)}})
    assert lake.standing.tolist() == [1, 0, 0]
