"""Write the tables of a shop, in which joins that look right make sums wrong.

Orders name two addresses and two employees; payments and items, or stock and items, meet in tables
that repeat both; items have a key of two columns; and two tables are called customers.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lakes.lake import Columns, write_table

_CUSTOMERS, _ORDERS = range(5_001, 5_151), range(90_001, 90_601)
_PEOPLE, _DEPARTMENTS = range(301, 341), range(61, 68)
_PLACES, _REGIONS = range(20_001, 20_261), range(11, 24)
_PRODUCTS, _WAREHOUSES = range(701, 791), range(41, 49)

_Tables = dict[str, Columns]
_Lines = Sequence[tuple[int, int]]


def write_shop(folder: Path) -> None:
    """Write the tables into the folders `shop` and `archive`.

    Args:
        folder: Where the lake is to be; it need not exist.
    """
    random = np.random.default_rng(7)
    lines = [(order, line) for order in _ORDERS for line in range(1, random.integers(2, 6))]
    returned = [lines[at] for at in random.choice(len(lines), 120, replace=False)]
    stored = [(one, other) for one in _WAREHOUSES for other in _PRODUCTS if random.random() < 1 / 2]
    tables = {**_orders(random), **_goods(random, lines, returned), **_stock(random, stored)}
    for name, columns in tables.items():
        write_table(folder, f"shop/{name}.csv", columns)
    closed = {
        "client_number": [f"K-{each:05}" for each in random.permutation(9_000)[:70]],
        "closed_on": [f"201{each % 10}-0{each % 9 + 1}-1{each % 7}" for each in range(70)],
    }
    write_table(folder, "archive/customers.csv", closed)


def _orders(random: np.random.Generator) -> _Tables:
    return {
        "regions": {"id": _REGIONS, "name": [f"Region {each}" for each in _REGIONS]},
        "customers": {
            "id": _CUSTOMERS,
            "name": [f"Customer {each}" for each in _CUSTOMERS],
            "region_id": random.choice(_REGIONS, len(_CUSTOMERS)),
        },
        "addresses": {"id": _PLACES, "street": [f"Street {each}" for each in _PLACES]},
        "departments": {
            "id": _DEPARTMENTS,
            "title": [f"Department {each}" for each in _DEPARTMENTS],
            "lead_id": random.choice(_PEOPLE, len(_DEPARTMENTS), replace=False),
        },
        "employees": {
            "id": _PEOPLE,
            "name": [f"Person {each}" for each in _PEOPLE],
            "department_id": random.choice(_DEPARTMENTS, len(_PEOPLE)),
            "manager_id": ["", *random.choice(_PEOPLE[:9], len(_PEOPLE) - 1)],
        },
        "orders": {
            "id": _ORDERS,
            "customer_id": random.choice(_CUSTOMERS, len(_ORDERS)),
            "billing_address_id": random.choice(_PLACES, len(_ORDERS)),
            "shipping_address_id": random.choice(_PLACES, len(_ORDERS)),
            "created_by": random.choice(_PEOPLE, len(_ORDERS)),
            "approved_by": random.choice(_PEOPLE[:15], len(_ORDERS)),
        },
    }


def _goods(random: np.random.Generator, lines: _Lines, returned: _Lines) -> _Tables:
    return {
        "products": {
            "id": _PRODUCTS,
            "sku": [f"SKU-{each * 37}" for each in _PRODUCTS],
            "price": random.integers(199, 9_999, len(_PRODUCTS)) / 100,
        },
        "order_items": {
            "order_id": [order for order, _ in lines],
            "line": [line for _, line in lines],
            "product_id": random.choice(_PRODUCTS, len(lines)),
            "quantity": random.integers(1, 9, len(lines)),
        },
        "returns": {
            "id": range(3_001, 3_001 + len(returned)),
            "order_id": [order for order, _ in returned],
            "line": [line for _, line in returned],
            "reason": random.choice(["broken", "late", "wrong size"], len(returned)),
        },
        "payments": {
            "id": range(400_001, 400_801),
            "order_id": random.choice(_ORDERS, 800),
            "amount": random.integers(500, 90_000, 800) / 100,
        },
    }


def _stock(random: np.random.Generator, stored: _Lines) -> _Tables:
    return {
        "warehouses": {"id": _WAREHOUSES, "city": [f"City {each}" for each in _WAREHOUSES]},
        "stock": {
            "warehouse_id": [one for one, _ in stored],
            "product_id": [other for _, other in stored],
            "on_hand": random.integers(0, 400, len(stored)),
        },
    }
