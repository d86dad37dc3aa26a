"""Whether datasets are chosen by domain, container and tag."""

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

from datahub_hyperjoin.catalog.among import Among
from datahub_hyperjoin.catalog.datasets import Home, read_datasets
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.urns import dataset_urn
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
    ("among", "names"),
    [
        (Among(), ["lines", "orders", "people", "plain"]),
        (Among(domains=[SALES]), ["lines", "orders"]),
        (Among(domains=["sales", "other"]), ["lines", "orders"]),
        (Among(containers=[SHOP]), ["orders", "people"]),
        (Among(containers=["shop"], domains=["sales"]), ["orders"]),
        (Among(tags=["pii"]), ["people"]),
        (Among(tags=["pii"], domains=["sales"]), []),
    ],
)
def test_a_dataset_has_one_of_each(graph: DataHubGraph, among: Among, names: list[str]) -> None:
    found = read_datasets(graph, [Home(platform="postgres", env="PROD")], among=among)
    assert [dataset.table.name for dataset in found] == names
