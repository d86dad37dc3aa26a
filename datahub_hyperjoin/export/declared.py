"""Read the column types and primary keys that the catalog declares."""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import SchemaMetadataClass

from datahub_hyperjoin.catalog.datasets import Dataset, dataset_of
from datahub_hyperjoin.catalog.entities import fetch
from datahub_hyperjoin.export.schema import DeclaredColumns
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, DataType


def read_declared(graph: DataHubGraph, joins: Iterable[CatalogJoin]) -> DeclaredColumns:
    """Read the column types and primary keys of the joined tables."""
    urns = sorted({dataset_urn(table) for join in joins for table in join.tables})
    entities = fetch(graph, "dataset", urns, [SchemaMetadataClass.ASPECT_NAME])
    read = [dataset_of(urn, aspects) for urn, aspects in entities.items()]
    datasets = [dataset for dataset in read if dataset]
    return DeclaredColumns(
        types={column: kind for dataset in datasets for column, kind in _types(dataset)},
        primary_keys={
            dataset.table: dataset.primary_key for dataset in datasets if dataset.primary_key
        },
    )


def _types(dataset: Dataset) -> Iterable[tuple[ColumnId, DataType]]:
    paths = (ColumnId(dataset.table, path) for path, _ in dataset.columns)
    return zip(paths, dataset.types, strict=True)
