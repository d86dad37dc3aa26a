"""Test that types and primary keys of exported tables are read from the catalog."""

from datahub.metadata.schema_classes import (
    NumberTypeClass,
    OtherSchemaClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    SchemaMetadataClass,
    StringTypeClass,
)

from datahub_hyperjoin.export.schema import read_declared
from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import DataType
from lakes.shop import column, open_shop, table


def schema(
    *fields: tuple[str, type[NumberTypeClass | StringTypeClass]], key: str
) -> SchemaMetadataClass:
    return SchemaMetadataClass(
        schemaName="shop",
        platform="urn:li:dataPlatform:postgres",
        version=0,
        hash="",
        platformSchema=OtherSchemaClass(rawSchema=""),
        fields=[
            SchemaFieldClass(path, SchemaFieldDataTypeClass(kind()), nativeDataType="")
            for path, kind in fields
        ],
        primaryKeys=[key],
    )


def test_types_and_keys_of_joined_tables_are_read() -> None:
    with open_shop() as shop:
        shop.suggest("orders.customer", "customers.id", 0.93)
        shop.gms.put(
            dataset_urn(table("customers")),
            schema(("id", NumberTypeClass), ("code", StringTypeClass), key="code"),
        )
        shop.gms.put(dataset_urn(table("refunds")), schema(("id", NumberTypeClass), key="id"))
        declared = read_declared(shop.graph, all_joins(shop.graph))
    assert declared.types == {
        column("customers.id"): DataType.INTEGER,
        column("customers.code"): DataType.TEXT,
    }
    assert declared.primary_keys == {table("customers"): ("code",)}
