"""Derive unique columns and declared pairs from the keys of datasets."""

from collections.abc import Iterable, Iterator

from datahub_hyperjoin.catalog.datasets import Dataset, ForeignKey
from datahub_hyperjoin.tables import ColumnId, Pair


def _columns_of(datasets: Iterable[Dataset]) -> set[ColumnId]:
    return {
        ColumnId(dataset.table, path)
        for dataset in datasets
        for path, _field_path in dataset.columns
    }


def unique_columns(datasets: Iterable[Dataset]) -> frozenset[ColumnId]:
    """Return the columns that are a whole primary key; parts of composite keys are not unique.

    Args:
        datasets: The datasets of the catalog.

    >>> from datahub_hyperjoin.tables import TableId
    >>> columns = (("order", "order"), ("line", "line"))
    >>> def orders(*key: str) -> Dataset:
    ...     table = TableId("postgres", "shop.orders")
    ...     return Dataset(table=table, title="orders", columns=columns, primary_key=key)
    >>> [str(column) for column in unique_columns([orders("order")])]
    ['shop.orders.order']
    >>> unique_columns([orders("order", "line")]), unique_columns([orders("number")])
    (frozenset(), frozenset())
    """
    datasets = tuple(datasets)
    columns = _columns_of(datasets)
    return frozenset(
        column
        for dataset in datasets
        for column in [ColumnId(dataset.table, path) for path in dataset.primary_key]
        if len(dataset.primary_key) == 1 and column in columns
    )


def _parts(key: ForeignKey) -> Iterator[tuple[Pair, str]]:
    """Yield each column pair of a foreign key, with the key's name and, if composite, the part."""
    name, count = key.name or "without a name", len(key.pairs)
    for part, pair in enumerate(key.pairs, start=1):
        # A key of a table to itself may contain a column twice, for example the tenant.
        if pair[0] != pair[1]:
            yield pair, name if count == 1 else f"{name} (part {part} of {count})"


def declared_pairs(datasets: Iterable[Dataset]) -> dict[Pair, str]:
    """Return the pairs of columns that foreign keys declare, each with the name of its key.

    A key that refers to a column outside the catalog is ignored. If several keys declare a pair,
    the key with the fewest columns is named.

    Args:
        datasets: The datasets of the catalog.

    >>> from datahub_hyperjoin.tables import TableId, pair_of
    >>> people = TableId("postgres", "shop.people")
    >>> pair = pair_of(ColumnId(people, "id"), ColumnId(people, "manager"))
    >>> key = ForeignKey(name="fk_manager", pairs=(pair,))
    >>> columns = (("id", "id"), ("manager", "manager"))
    >>> dataset = Dataset(table=people, title="people", columns=columns, foreign_keys=(key,))
    >>> declared_pairs([dataset]) == {pair: "fk_manager"}
    True
    """
    datasets = tuple(datasets)
    columns = _columns_of(datasets)
    keys = [key for dataset in datasets for key in dataset.foreign_keys]
    declared: dict[Pair, str] = {}
    # Narrow keys first: a whole key is stronger evidence for a pair than a part of a wide one.
    for key in sorted(keys, key=lambda key: len(key.pairs)):
        if all(column in columns for pair in key.pairs for column in pair):
            for pair, name in _parts(key):
                declared.setdefault(pair, name)
    return declared
