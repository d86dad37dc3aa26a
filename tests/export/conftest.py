"""Set up the joins of a company, with all cases that are difficult to export.

Two references to one table, of which one is incomplete; a table that refers to itself; a composite
key; a second key; a circle; a one-to-one join; and joins that must not be exported.
"""

import pytest

from datahub_hyperjoin.export import DeclaredColumns
from datahub_hyperjoin.joins import Cardinality, Join, Role
from datahub_hyperjoin.tables import ColumnId, DataType, TableId
from lakes.chains import changed, made

TEXTS = {"customers.code", "orders.customer_code", "addresses.customer_code"}


def table(name: str) -> TableId:
    return TableId("postgres", f"eu.shop.public.{name}")


def column(name: str) -> ColumnId:
    own, _, path = name.partition(".")
    return ColumnId(table(own), path)


def join(*pairs: str, containment: float = 1.0) -> Join:
    """Make a reference from column pairs, each written as "table.column = table.column"."""
    columns = tuple(
        (column(left), column(right))
        for left, _, right in (pair.partition(" = ") for pair in pairs)
    )
    return made(
        urn=f"urn:li:erModelRelationship:{'-'.join(pairs).replace(' = ', '-')}",
        name="",
        pairs=columns,
        cardinality=Cardinality.MANY_ONE,
        joinability=0.9,
        band="high",
        role=Role.REFERENCE,
        referenced=columns[0][1],
        left_fan_out=1.0,
        right_fan_out=2.0,
        left_containment=containment,
        right_containment=0.5,
    )


SAFE = [
    join("orders.customer = customers.id"),
    changed(join("orders.payer = customers.id", containment=0.97), declared=True),
    join("orders.customer_code = customers.code"),
    join("customers.last_order = orders.id", containment=0.8),
    join("lines.shop = orders.shop", "lines.order = orders.number"),
    join("employees.manager = employees.id"),
    changed(
        join("addresses.customer_code = customers.code", containment=0.6),
        cardinality=Cardinality.ONE_ONE,
        role=Role.ONE_TO_ONE,
    ),
]


@pytest.fixture
def joins() -> list[Join]:
    return [*SAFE]


@pytest.fixture
def reference() -> Join:
    """Return the first join, for tests that change it."""
    return SAFE[0]


@pytest.fixture
def declared() -> DeclaredColumns:
    columns = {column for safe in SAFE for pair in safe.pairs for column in pair}
    return DeclaredColumns(
        types={
            each: DataType.TEXT
            if f"{each.table.name[15:]}.{each.path}" in TEXTS
            else DataType.INTEGER
            for each in columns
        },
        primary_keys={table("orders"): ("id",)},
    )
