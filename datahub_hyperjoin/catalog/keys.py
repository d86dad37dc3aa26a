"""Collect the primary keys and foreign keys that datasets declare."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from datahub_hyperjoin.catalog_facts import DeclaredKeys
from datahub_hyperjoin.tables import ColumnId

if TYPE_CHECKING:
    from datahub_hyperjoin.catalog.datasets import Dataset


def declared_keys(datasets: "Iterable[Dataset]") -> DeclaredKeys:
    """Return the primary keys and foreign keys of datasets.

    A key with a column outside the catalog is ignored.

    Args:
        datasets: The datasets of the catalog.

    >>> from datahub_hyperjoin.catalog.datasets import Dataset
    >>> from datahub_hyperjoin.tables import TableId
    >>> columns = (("order", "order"), ("line", "line"))
    >>> def orders(*key: str) -> Dataset:
    ...     table = TableId("postgres", "shop.orders")
    ...     return Dataset(table=table, title="orders", columns=columns, primary_key=key)
    >>> [str(column) for column in declared_keys([orders("order")]).unique]
    ['shop.orders.order']
    >>> [key] = declared_keys([orders("order", "line")]).composite
    >>> [column.path for column in key]
    ['order', 'line']
    >>> declared_keys([orders("number")]) == DeclaredKeys()
    True
    """
    datasets = tuple(datasets)
    known = {
        ColumnId(dataset.table, path)
        for dataset in datasets
        for path, _field_path in dataset.columns
    }
    primary = [
        tuple(ColumnId(dataset.table, path) for path in dataset.primary_key)
        for dataset in datasets
        if dataset.primary_key
    ]
    whole = [key for key in primary if known.issuperset(key)]
    return DeclaredKeys(
        unique=frozenset(key[0] for key in whole if len(key) == 1),
        composite=frozenset(key for key in whole if len(key) > 1),
        foreign=tuple(
            key
            for dataset in datasets
            for key in dataset.foreign_keys
            if all(column in known for pair in key.pairs for column in pair)
        ),
    )
