"""Write the tables of a shop, in which joins that look right make sums wrong.

Orders name two addresses and two employees; payments and items, or stock and items, meet in tables
that repeat both; items have a key of two columns; and two tables are called customers.
"""

from pathlib import Path

import numpy as np

from lakes.lake import Columns, write_table

_ORDERS, _CUSTOMERS, _PRODUCTS, _PEOPLE, _PLACES = 600, 150, 90, 40, 260


def write_shop(folder: Path) -> None:
    """Write the tables into the folders `shop` and `archive`.

    Args:
        folder: Where the lake is to be; it need not exist.
    """
    random = np.random.default_rng(7)
    people, places = range(301, 301 + _PEOPLE), range(20_001, 20_001 + _PLACES)
    customers, products = range(5_001, 5_001 + _CUSTOMERS), range(701, 701 + _PRODUCTS)
    orders, regions, departments = range(90_001, 90_001 + _ORDERS), range(11, 24), range(61, 68)
    warehouses = range(41, 49)
    lines = [(order, line) for order in orders for line in range(1, random.integers(2, 6))]
    returned = [lines[at] for at in random.choice(len(lines), 120, replace=False)]
    stored = [(one, other) for one in warehouses for other in products if random.random() < 1 / 2]
    tables: dict[str, Columns] = {
        "regions": {"id": regions, "name": [f"Region {each}" for each in regions]},
        "customers": {
            "id": customers,
            "name": [f"Customer {each}" for each in customers],
            "region_id": random.choice(regions, _CUSTOMERS),
        },
        "addresses": {"id": places, "street": [f"Street {each}" for each in places]},
        "departments": {
            "id": departments,
            "title": [f"Department {each}" for each in departments],
            "lead_id": random.choice(people, len(departments), replace=False),
        },
        "employees": {
            "id": people,
            "name": [f"Person {each}" for each in people],
            "department_id": random.choice(departments, _PEOPLE),
            "manager_id": ["", *random.choice(people[:9], _PEOPLE - 1)],
        },
        "orders": {
            "id": orders,
            "customer_id": random.choice(customers, _ORDERS),
            "billing_address_id": random.choice(places, _ORDERS),
            "shipping_address_id": random.choice(places, _ORDERS),
            "created_by": random.choice(people, _ORDERS),
            "approved_by": random.choice(people[:15], _ORDERS),
        },
        "products": {
            "id": products,
            "sku": [f"SKU-{each * 37}" for each in products],
            "price": random.integers(199, 9_999, _PRODUCTS) / 100,
        },
        "order_items": {
            "order_id": [order for order, _ in lines],
            "line": [line for _, line in lines],
            "product_id": random.choice(products, len(lines)),
            "quantity": random.integers(1, 9, len(lines)),
        },
        "returns": {
            "id": range(3_001, 3_121),
            "order_id": [order for order, _ in returned],
            "line": [line for _, line in returned],
            "reason": random.choice(["broken", "late", "wrong size"], 120),
        },
        "payments": {
            "id": range(400_001, 400_801),
            "order_id": random.choice(orders, 800),
            "amount": random.integers(500, 90_000, 800) / 100,
        },
        "warehouses": {"id": warehouses, "city": [f"City {each}" for each in warehouses]},
        "stock": {
            "warehouse_id": [one for one, _ in stored],
            "product_id": [other for _, other in stored],
            "on_hand": random.integers(0, 400, len(stored)),
        },
    }
    for name, columns in tables.items():
        write_table(folder, f"shop/{name}.csv", columns)
    closed = {
        "client_number": [f"K-{each:05}" for each in random.permutation(9_000)[:70]],
        "closed_on": [f"201{each % 10}-0{each % 9 + 1}-1{each % 7}" for each in range(70)],
    }
    write_table(folder, "archive/customers.csv", closed)
