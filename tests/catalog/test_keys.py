from datahub_hyperjoin.catalog.catalog import declared_keys
from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog_facts import DeclaredKeys, ForeignKey
from datahub_hyperjoin.tables import ColumnId, TableId

ORDERS, LINES = TableId("postgres", "shop.orders"), TableId("postgres", "shop.lines")
ORDER = ColumnId(LINES, "order"), ColumnId(ORDERS, "id")
TENANT = ColumnId(LINES, "tenant"), ColumnId(ORDERS, "tenant")


def dataset(
    table: TableId, *columns: str, key: tuple[str, ...] = (), keys: tuple[ForeignKey, ...] = ()
) -> Dataset:
    return Dataset(
        table=table,
        title=table.name,
        columns=tuple((column, f"[version=2.0].[type=string].{column}") for column in columns),
        primary_key=key,
        foreign_keys=keys,
    )


def lines(*keys: ForeignKey) -> Dataset:
    return dataset(LINES, "order", "tenant", keys=keys)


def test_a_key_of_one_column_is_unique_and_another_is_composite() -> None:
    datasets = [
        dataset(ORDERS, "id", "tenant", key=("id",)),
        dataset(LINES, "order", "tenant", key=("order", "tenant")),
    ]
    keys = declared_keys(datasets)
    assert keys.unique == {ColumnId(ORDERS, "id")}
    assert keys.composite == {(ColumnId(LINES, "order"), ColumnId(LINES, "tenant"))}


def test_a_primary_key_outside_the_schema_is_ignored() -> None:
    assert declared_keys([dataset(ORDERS, "id", key=("number",))]) == DeclaredKeys()
    assert declared_keys([dataset(ORDERS, "id", key=("id", "number"))]) == DeclaredKeys()


def test_foreign_keys_of_one_and_of_several_columns_are_kept() -> None:
    single = ForeignKey(name="fk_order", pairs=(ORDER,))
    composite = ForeignKey(name="fk_tenant", pairs=(TENANT, ORDER))
    datasets = [dataset(ORDERS, "id", "tenant"), lines(single, composite)]
    assert declared_keys(datasets).foreign == (single, composite)


def test_a_foreign_key_to_an_unknown_column_is_ignored() -> None:
    single = ForeignKey(name="fk_order", pairs=(ORDER,))
    composite = ForeignKey(name="fk_tenant", pairs=(TENANT, ORDER))
    assert declared_keys([lines(single, composite)]).foreign == ()
    assert declared_keys([dataset(ORDERS, "number"), lines(single)]).foreign == ()
    assert declared_keys([dataset(ORDERS, "id"), lines(composite)]).foreign == ()
