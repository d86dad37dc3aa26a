"""Names of things in DataHub."""

from datahub.emitter.mce_builder import datahub_guid
from datahub.metadata.urns import (
    DataPlatformUrn,
    DatasetUrn,
    ErModelRelationshipUrn,
    SchemaFieldUrn,
)

from datahub_hyperjoin.tables import ColumnId, TableId


def dataset_urn(table: TableId) -> str:
    """The dataset of a table.

    >>> dataset_urn(TableId("postgres", "shop.public.orders"))
    'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)'
    """
    platform = DataPlatformUrn(table.platform)
    return DatasetUrn(platform=platform.urn(), name=table.name, env=table.env).urn()


def column_urn(column: ColumnId) -> str:
    """The schema field of a column.

    >>> column_urn(ColumnId(TableId("postgres", "shop.public.orders"), "customer_id"))
    'urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD),customer_id)'
    """
    return SchemaFieldUrn(parent=dataset_urn(column.table), field_path=column.path).urn()


def relationship_urn(*, source: str, destination: str, name: str) -> str:
    """The relationship of two datasets, named as DataHub's own server names those that people make.

    Its identity is made of the name, so the name must tell one pair of columns from another.

    Args:
        source: The greater of the two dataset urns.
        destination: The smaller.
        name: The relationship's name.
    """
    guid = datahub_guid({"Destination": destination, "ERModelRelationName": name, "Source": source})
    return ErModelRelationshipUrn(guid).urn()
