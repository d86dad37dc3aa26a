"""What the keys that datasets declare say of single columns and of pairs of them."""

from collections.abc import Iterable, Iterator

from datahub_hyperjoin.catalog.datasets import Dataset, ForeignKey
from datahub_hyperjoin.tables import ColumnId, Pair


def _known(datasets: Iterable[Dataset]) -> set[ColumnId]:
    return {
        ColumnId(dataset.table, path)
        for dataset in datasets
        for path, _field_path in dataset.columns
    }


def unique_columns(datasets: Iterable[Dataset]) -> frozenset[ColumnId]:
    """Columns that are a table's whole primary key; the parts of a composite key are not.

    Args:
        datasets: What the catalog knows.

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
    known = _known(datasets)
    return frozenset(
        column
        for dataset in datasets
        for column in [ColumnId(dataset.table, path) for path in dataset.primary_key]
        if len(dataset.primary_key) == 1 and column in known
    )


def _parts(key: ForeignKey) -> Iterator[tuple[Pair, str]]:
    name, count = key.name or "without a name", len(key.pairs)
    for part, pair in enumerate(key.pairs, start=1):
        if pair[0] != pair[1]:  # as of the tenant, in a key of a table to itself
            yield pair, name if count == 1 else f"{name} (part {part} of {count})"


def declared_pairs(datasets: Iterable[Dataset]) -> dict[Pair, str]:
    """Pairs of columns that foreign keys declare, each with the words that name the key.

    A key that refers to what the catalog does not know is left out. Of several keys that declare
    one pair, the one with the fewest columns names it.

    Args:
        datasets: What the catalog knows.

    >>> from datahub_hyperjoin.tables import TableId, pair_of
    >>> people = TableId("postgres", "shop.people")
    >>> pair = pair_of(ColumnId(people, "id"), ColumnId(people, "manager"))
    >>> key = ForeignKey(name="fk_manager", pairs=(pair,))
    >>> columns = (("id", "id"), ("manager", "manager"))
    >>> known = Dataset(table=people, title="people", columns=columns, foreign_keys=(key,))
    >>> declared_pairs([known]) == {pair: "fk_manager"}
    True
    """
    datasets = tuple(datasets)
    known = _known(datasets)
    keys = [key for dataset in datasets for key in dataset.foreign_keys]
    declared: dict[Pair, str] = {}
    for key in sorted(keys, key=lambda key: len(key.pairs)):
        if all(column in known for pair in key.pairs for column in pair):
            for pair, words in _parts(key):
                declared.setdefault(pair, words)
    return declared
