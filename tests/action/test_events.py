"""Test which catalog events trigger the action."""

from typing import Any

import pytest
from datahub.metadata.schema_classes import (
    AuditStampClass,
    EntityChangeEventClass,
    GlobalTagsClass,
    GlossaryTermAssociationClass,
    GlossaryTermsClass,
    OtherSchemaClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    SchemaMetadataClass,
    StatusClass,
    StringTypeClass,
    StructuredPropertiesClass,
    TagAssociationClass,
)

from datahub_hyperjoin.action.events import CatalogChange, ChangeDetector, Removal
from datahub_hyperjoin.catalog.scope import PlatformInstance
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    CONFIRMED_JOINS,
    JOIN_LINKS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    REJECTED,
    REJECTED_JOINS,
    band_urn,
    column_urn,
    dataset_urn,
    flat_property_urn,
    property_urn,
)
from lakes.lake import column, table
from services.events import ANN, changed, properties

NAMESPACE = "io.datahub.hyperjoin"
DETECTOR = ChangeDetector(
    instances=[PlatformInstance(platform="file", env="PROD")], namespace=NAMESPACE
)
JOIN = "urn:li:erModelRelationship:ab"
FLIGHTS = dataset_urn(table("flights.csv"))
OWN, ONE, TWO = (
    column_urn(column(f"{name}.csv.carrier")) for name in ("flights", "airlines", "delays")
)
JOINABLE, TEXTS, STATED, REFUSED = (
    property_urn(NAMESPACE, name)
    for name in (JOINABLE_WITH, JOIN_SUGGESTIONS, CONFIRMED_JOINS, REJECTED_JOINS)
)
LINKS = flat_property_urn(NAMESPACE, JOIN_LINKS)
BEFORE = {JOINABLE: [ONE, TWO], TEXTS: ["one", "two"], LINKS: ["[one]()", "[two]()"]}


def tags(*urns: str) -> GlobalTagsClass:
    return GlobalTagsClass([TagAssociationClass(urn) for urn in urns])


def schema(*paths: str) -> SchemaMetadataClass:
    kind = SchemaFieldDataTypeClass(StringTypeClass())  # type: ignore[no-untyped-call]
    return SchemaMetadataClass(
        schemaName="flights",
        platform="urn:li:dataPlatform:file",
        version=0,
        hash="",
        platformSchema=OtherSchemaClass(rawSchema=""),
        fields=[SchemaFieldClass(fieldPath=path, type=kind, nativeDataType="") for path in paths],
    )


def edited(after: dict[str, list[str]], **event: Any) -> object:  # noqa: ANN401 - of `changed`
    return DETECTOR.detect(changed(OWN, properties(after), properties(BEFORE), **event))


def told(category: str, operation: str, urn: str, modifier: str | None = None) -> object:
    kind = urn.split(":")[2]
    stamp = AuditStampClass(time=1, actor=ANN)
    return DETECTOR.detect(
        EntityChangeEventClass(
            entityUrn=urn,
            entityType=kind,
            category=category,
            operation=operation,
            modifier=modifier,
            auditStamp=stamp,
            version=0,
        )
    )


@pytest.mark.parametrize(
    ("name", "kept"), [(JOINABLE, [TWO]), (TEXTS, ["two"]), (LINKS, ["[two]()"])]
)
def test_an_entry_that_a_person_removes_from_any_list_rejects_its_pair(
    name: str, kept: list[str]
) -> None:
    change = edited({**BEFORE, name: kept})
    assert isinstance(change, Removal)
    assert (change.urn, change.partners, change.definition) == (OWN, (ONE,), name)
    assert change.stamp.actor == ANN


MORE = "and 11 more tables by the same key"
COUNTED = {JOINABLE: [ONE, TWO], TEXTS: ["one", "two", MORE], LINKS: ["[one]()", "[two]()", MORE]}


@pytest.mark.parametrize(
    ("name", "kept", "partners"),
    [
        (TEXTS, ["two", MORE], (ONE,)),
        (LINKS, ["[one]()", MORE], (TWO,)),
        (TEXTS, ["two"], (ONE,)),
        (TEXTS, ["one", "two"], None),
    ],
)
def test_a_count_of_further_tables_is_no_pair(
    name: str, kept: list[str], partners: tuple[str, ...] | None
) -> None:
    after, before = properties({**COUNTED, name: kept}), properties(COUNTED)
    change = DETECTOR.detect(changed(OWN, after, before))
    assert (change.partners if isinstance(change, Removal) else None) == partners


def test_a_removed_property_rejects_all_its_pairs() -> None:
    change = edited({JOINABLE: [ONE, TWO], TEXTS: ["one", "two"]})
    assert isinstance(change, Removal)
    assert change.partners == (ONE, TWO)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        {**BEFORE, TEXTS: ["uno", "two"]},
        {**BEFORE, JOINABLE: [ONE, TWO, OWN]},
        {**BEFORE, JOINABLE: [TWO, ONE]},
        {**BEFORE, TEXTS: ["other"]},
    ],
    ids=["nothing", "edited", "added", "reordered", "replaced"],
)
def test_an_edit_that_removes_nothing_rejects_nothing(after: dict[str, list[str]]) -> None:
    assert edited(after) is None


def test_entries_that_a_run_removes_reject_nothing() -> None:
    assert edited({**BEFORE, JOINABLE: [TWO]}, run="hyperjoin-2026") is None


def test_an_entity_without_its_properties_rejects_nothing() -> None:
    gone = changed(OWN, None, properties(BEFORE), change="DELETE")
    assert DETECTOR.detect(gone) is None


@pytest.mark.parametrize("name", [STATED, REFUSED])
def test_a_decision_on_a_column_is_a_change(name: str) -> None:
    assert edited({**BEFORE, name: [ONE]}) == CatalogChange(OWN)


@pytest.mark.parametrize("tag", [ACCEPTED, REJECTED])
@pytest.mark.parametrize("added", [True, False])
def test_a_deciding_tag_is_a_change(tag: str, *, added: bool) -> None:
    states = (tags(tag, band_urn("high")), tags(band_urn("high")))
    assert DETECTOR.detect(changed(JOIN, *states[:: 1 if added else -1])) == CatalogChange(JOIN)


def test_other_tags_are_no_change() -> None:
    assert DETECTOR.detect(changed(JOIN, tags("urn:li:tag:seen"), tags())) is None
    assert DETECTOR.detect(changed(JOIN, tags(ACCEPTED), None, run="a run")) is None


@pytest.mark.parametrize("run", ["no-run-id-provided", "", None])
def test_hiding_and_showing_a_relationship_is_a_change(run: str | None) -> None:
    assert DETECTOR.detect(changed(JOIN, StatusClass(removed=True), run=run)) == CatalogChange(JOIN)
    shown = changed(JOIN, StatusClass(removed=False), StatusClass(removed=True), run=run)
    assert DETECTOR.detect(shown) == CatalogChange(JOIN)
    assert DETECTOR.detect(changed(JOIN, StatusClass(removed=False), run=run)) is None


def test_a_relationship_that_a_run_hides_is_no_change() -> None:
    assert DETECTOR.detect(changed(JOIN, StatusClass(removed=True), run="a run")) is None


def test_a_deleted_relationship_is_a_change() -> None:
    gone = changed(JOIN, None, name="erModelRelationshipKey", change="DELETE")
    assert DETECTOR.detect(gone) == CatalogChange(JOIN)
    assert DETECTOR.detect(changed(JOIN, None, name="erModelRelationshipKey")) is None


def test_a_new_or_changed_table_of_the_recipe_is_a_change() -> None:
    assert DETECTOR.detect(changed(FLIGHTS, schema("a"), run="a connector")) == CatalogChange(
        FLIGHTS
    )
    assert DETECTOR.detect(changed(FLIGHTS, schema("a", "b"), schema("a"))) == CatalogChange(
        FLIGHTS
    )
    assert told("LIFECYCLE", "CREATE", FLIGHTS) == CatalogChange(FLIGHTS)


def test_other_tables_and_unchanged_ones_are_no_change() -> None:
    other = FLIGHTS.replace("file", "hive")
    assert DETECTOR.detect(changed(other, schema("a"))) is None
    assert told("LIFECYCLE", "CREATE", other) is None
    assert told("LIFECYCLE", "SOFT_DELETE", FLIGHTS) is None
    assert DETECTOR.detect(changed(FLIGHTS, schema("a"), schema("a"))) is None
    assert DETECTOR.detect(changed(FLIGHTS, schema("a"), change="RESTATE")) is None


def test_a_glossary_term_that_a_person_removes_is_a_change() -> None:
    def terms(*names: str) -> GlossaryTermsClass:
        found = [GlossaryTermAssociationClass(f"urn:li:glossaryTerm:{name}") for name in names]
        return GlossaryTermsClass(found, AuditStampClass(time=1, actor=ANN))

    assert DETECTOR.detect(changed(OWN, terms("a"), terms("a", "b"))) == CatalogChange(OWN)
    assert DETECTOR.detect(changed(OWN, terms("a", "b"), terms("a"))) is None
    assert DETECTOR.detect(changed(OWN, terms("a"), terms("a", "b"), run="a run")) is None
    other = OWN.replace(":file,", ":hive,")
    assert DETECTOR.detect(changed(other, terms(), terms("b"))) is None


def test_events_of_tags_on_relationships_are_changes() -> None:
    assert told("TAG", "ADD", JOIN, REJECTED) == CatalogChange(JOIN)
    assert told("TAG", "ADD", JOIN, band_urn("high")) is None


def test_other_events_are_no_change() -> None:
    assert DETECTOR.detect(object()) is None
    assert DETECTOR.detect(changed(FLIGHTS, tags(ACCEPTED))) is None
    assert DETECTOR.detect(changed(OWN, StructuredPropertiesClass([]))) is None
