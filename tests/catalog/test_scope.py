"""Test that datasets are filtered by domain, container and tag."""

from collections.abc import Callable

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    BrowsePathEntryClass,
    BrowsePathsV2Class,
    DomainsClass,
    GlobalTagsClass,
    SchemaMetadataClass,
    TagAssociationClass,
)

from datahub_hyperjoin.catalog.datasets import read_datasets
from datahub_hyperjoin.catalog.scope import DatasetFilter, PlatformInstance
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import TableId
from gms import Gms

Describe = Callable[..., SchemaMetadataClass]

SALES, SHOP, PII = "urn:li:domain:sales", "urn:li:container:shop", "urn:li:tag:pii"


@pytest.fixture(autouse=True)
def shop(gms: Gms, describe: Describe) -> None:
    for name in ("orders", "lines", "people", "plain"):
        gms.put(dataset_urn(TableId("postgres", name)), describe("id"))
    for name in ("orders", "lines"):
        gms.put(dataset_urn(TableId("postgres", name)), DomainsClass(domains=[SALES]))
    path = [BrowsePathEntryClass(id="shop", urn=SHOP), BrowsePathEntryClass(id="public")]
    for name in ("orders", "people"):
        gms.put(dataset_urn(TableId("postgres", name)), BrowsePathsV2Class(path=path))
    tags = GlobalTagsClass(tags=[TagAssociationClass(tag=PII)])
    gms.put(dataset_urn(TableId("postgres", "people")), tags)


@pytest.mark.parametrize(
    ("dataset_filter", "names"),
    [
        (DatasetFilter(), ["lines", "orders", "people", "plain"]),
        (DatasetFilter(domains=[SALES]), ["lines", "orders"]),
        (DatasetFilter(domains=["sales", "other"]), ["lines", "orders"]),
        (DatasetFilter(containers=[SHOP]), ["orders", "people"]),
        (DatasetFilter(containers=["shop"], domains=["sales"]), ["orders"]),
        (DatasetFilter(tags=["pii"]), ["people"]),
        (DatasetFilter(tags=["pii"], domains=["sales"]), []),
    ],
)
def test_a_dataset_matches_one_of_each_kind(
    graph: DataHubGraph, dataset_filter: DatasetFilter, names: list[str]
) -> None:
    postgres = PlatformInstance(platform="postgres", env="PROD")
    datasets = read_datasets(graph, [postgres], dataset_filter=dataset_filter)
    assert [dataset.table.name for dataset in datasets] == names
