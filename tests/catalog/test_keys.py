from collections.abc import Callable

import pytest
from datahub.metadata.schema_classes import ForeignKeyConstraintClass, SchemaMetadataClass

from datahub_hyperjoin.catalog.catalog import declared_keys
from datahub_hyperjoin.catalog.datasets import Dataset, read_datasets
from datahub_hyperjoin.catalog.scope import PlatformInstance
from datahub_hyperjoin.catalog_facts import DeclaredKeys, ForeignKey
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from gms import Gms

Describe = Callable[..., SchemaMetadataClass]
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


@pytest.mark.parametrize(
    ("platform", "names", "spelled"),
    [
        # The Snowflake source folds columns of keys and of schemas alike, by default to lower case.
        ("snowflake", ("shop.public.lines", "shop.sales.orders"), ("order_id", "id")),
        ("snowflake", ("SHOP.PUBLIC.LINES", "SHOP.SALES.ORDERS"), ("ORDER_ID", "ID")),
        # The Unity source takes the columns of a key from the constraint, as its author spelled
        # them, and keeps the case of the table's own; tables may stand below a metastore.
        ("databricks", ("acme.main.shop.lines", "acme.main.sales.orders"), ("order_ID", "Id")),
        ("databricks", ("main.shop.lines", "main.sales.orders"), ("order_id", "id")),
    ],
)
def test_keys_are_read_as_datahub_s_sources_write_them(
    gms: Gms, describe: Describe, platform: str, names: tuple[str, str], spelled: tuple[str, str]
) -> None:
    lines, orders = (TableId(platform, name) for name in names)
    order, key = (path.upper() if names[0].isupper() else path.lower() for path in spelled)
    pair = ColumnId(lines, order), ColumnId(orders, key)
    written = ForeignKeyConstraintClass(
        name="fk_order",
        foreignDataset=dataset_urn(orders),
        foreignFields=[column_urn(ColumnId(orders, spelled[1]))],
        sourceFields=[column_urn(ColumnId(lines, spelled[0]))],
    )
    nested = "[version=2.0].[type=struct].[type=array].[type=string].tags"
    gms.put(dataset_urn(lines), describe(order, nested, foreignKeys=[written]), pipeline="source")
    marked = describe(key, "total")
    marked.fields[0].isPartOfKey = True
    gms.put(dataset_urn(orders), marked, pipeline="source")
    instance = PlatformInstance(platform=platform, env="PROD", instance=None)
    keys = declared_keys(read_datasets(gms.graph(), [instance]))
    assert keys.foreign == (ForeignKey(name="fk_order", pairs=(pair,)),)
    assert keys.unique == {pair[1]}


def test_of_two_columns_that_differ_in_case_none_is_guessed() -> None:
    key = ForeignKey(name="fk", pairs=((ColumnId(LINES, "ORDER"), ColumnId(ORDERS, "id")),))
    two = dataset(LINES, "order", "Order", keys=(key,))
    assert declared_keys([dataset(ORDERS, "id"), two]).foreign == ()
