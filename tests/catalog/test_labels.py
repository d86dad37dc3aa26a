"""Test which tags and glossary terms mark columns as personal."""

from collections.abc import Callable

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AuditStampClass,
    EditableSchemaFieldInfoClass,
    EditableSchemaMetadataClass,
    GlobalTagsClass,
    GlossaryTermAssociationClass,
    GlossaryTermInfoClass,
    GlossaryTermsClass,
    SchemaMetadataClass,
    TagAssociationClass,
)

from datahub_hyperjoin.catalog.datasets import mark_personal, name_labels, read_datasets
from datahub_hyperjoin.catalog.scope import PlatformInstance
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.tables import Table, TableId
from gms import Gms

PEOPLE = TableId("postgres", "shop.public.people")
OTHER = TableId("postgres", "shop.public.other")
TERM = "urn:li:glossaryTerm:0b5e5a38"
Describe = Callable[..., SchemaMetadataClass]


def tags(*names: str) -> GlobalTagsClass:
    return GlobalTagsClass(tags=[TagAssociationClass(tag=f"urn:li:tag:{name}") for name in names])


def terms(*urns: str) -> GlossaryTermsClass:
    stamp = AuditStampClass(time=0, actor="urn:li:corpuser:ann")
    associations = [GlossaryTermAssociationClass(urn=urn) for urn in urns]
    return GlossaryTermsClass(terms=associations, auditStamp=stamp)


def table(id_: TableId) -> Table:
    location = File(uri="people.csv", format="csv")
    return Table(id=id_, title=id_.name, location=location, size=1)


def personal(graph: DataHubGraph, *patterns: str) -> dict[str, set[str]]:
    postgres = PlatformInstance(platform="postgres", env="PROD")
    datasets = {dataset.table: dataset for dataset in read_datasets(graph, [postgres])}
    tables = mark_personal(
        [table(PEOPLE), table(OTHER), table(TableId("file", "unknown"))],
        datasets,
        name_labels(graph, datasets.values()),
        patterns or ProfileConfig().personal_tags,
    )
    return {str(one.id): {*one.personal} for one in tables if one.personal}


@pytest.fixture(autouse=True)
def catalog(gms: Gms, describe: Describe) -> None:
    described = describe("id", "mail", "town", "born.on", "[version=2.0].[type=string].phone")
    for field in described.fields:
        if field.fieldPath == "mail":
            field.globalTags = tags("Marketing", "customer-PII")
        if field.fieldPath == "town":
            field.globalTags = tags("geo")
        if field.fieldPath.endswith("phone"):
            field.glossaryTerms = terms("urn:li:glossaryTerm:Classification.Sensitive")
    gms.put(dataset_urn(PEOPLE), described)
    gms.put(dataset_urn(OTHER), describe("id", "name"))


def test_columns_are_personal_by_the_schema_s_tags_and_terms(graph: DataHubGraph) -> None:
    assert personal(graph) == {"shop.public.people": {"mail", "phone"}}


def test_a_term_is_known_by_its_name(gms: Gms, graph: DataHubGraph) -> None:
    gms.put(TERM, GlossaryTermInfoClass(definition="", termSource="INTERNAL", name="Personal data"))
    field = EditableSchemaFieldInfoClass(fieldPath="born.on", glossaryTerms=terms(TERM))
    gms.put(dataset_urn(PEOPLE), EditableSchemaMetadataClass(editableSchemaFieldInfo=[field]))
    assert personal(graph) == {"shop.public.people": {"mail", "phone", "born.on"}}


def test_people_s_own_tags_count(gms: Gms, graph: DataHubGraph) -> None:
    field = EditableSchemaFieldInfoClass(fieldPath="id", globalTags=tags("gdpr"))
    gms.put(dataset_urn(PEOPLE), EditableSchemaMetadataClass(editableSchemaFieldInfo=[field]))
    assert personal(graph) == {"shop.public.people": {"mail", "phone", "id"}}


def test_all_columns_of_a_personal_dataset_are_personal(gms: Gms, graph: DataHubGraph) -> None:
    gms.put(dataset_urn(OTHER), tags("Confidential"))
    assert personal(graph)["shop.public.other"] == {"id", "name"}


def test_patterns_are_the_recipe_s(graph: DataHubGraph) -> None:
    assert personal(graph, "^geo$") == {"shop.public.people": {"town"}}
