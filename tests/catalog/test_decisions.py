from collections.abc import Callable
from dataclasses import replace

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ERModelRelationshipPropertiesClass,
    MetadataAttributionClass,
    RelationshipFieldMappingClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
)

from datahub_hyperjoin.catalog.decisions import (
    copy_to_new_names,
    decisions_of_column,
    decisions_on,
    deleted_composites,
    read_decisions,
)
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.catalog.filed_decisions import Decision, merge_decisions
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.relationships import (
    COPIED,
    REPLACED_BY,
    REPLACED_WHEN,
    columns_urn,
)
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    AUTHOR,
    CONFIRMED_JOINS,
    REJECTED,
    REJECTED_JOINS,
    column_urn,
    dataset_urn,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of
from gms import Gms

AIRPORTS, FLIGHTS = (TableId("postgres", f"shop.public.{name}") for name in ("airports", "flights"))
CODE, NAME = (ColumnId(AIRPORTS, path) for path in ("code", "name"))
ORIGIN, CARRIER = (ColumnId(FLIGHTS, path) for path in ("origin", "carrier"))
PAIR, OTHER = pair_of(CODE, ORIGIN), pair_of(NAME, CARRIER)
ADA, BOB = "urn:li:corpuser:ada", "urn:li:corpuser:bob"
YES, NO = Decision(Verdict.ACCEPTED), Decision(Verdict.REJECTED)
NAMESPACE = "io.datahub.hyperjoin"
CONFIRMED, DENIED = (property_urn(NAMESPACE, name) for name in (CONFIRMED_JOINS, REJECTED_JOINS))
VERDICTS = {CONFIRMED: Verdict.ACCEPTED, DENIED: Verdict.REJECTED}

Warnings = list[tuple[str, str, str]]
Warn = Callable[[str, str, str], None]


SEEN = Relationship(
    urn="urn:li:erModelRelationship:1",
    aspect=ERModelRelationshipPropertiesClass(
        name="flies from",
        source=dataset_urn(FLIGHTS),
        destination=dataset_urn(AIRPORTS),
        relationshipFieldMappings=[RelationshipFieldMappingClass("origin", "code")],
    ),
    pairs=(PAIR,),
    ours=True,
    recorded=True,
    join=None,
)
THEIRS = replace(SEEN, ours=False, recorded=False)


def opinions(relationship: Relationship) -> list[tuple[Pair, Decision]]:
    """Return the decisions on a relationship that has one pair of columns."""
    return [(pair, decision) for (pair,), decision in decisions_on(relationship)]


def test_without_a_tag_nothing_is_decided() -> None:
    assert opinions(SEEN) == []
    assert opinions(replace(SEEN, tags=frozenset(["urn:li:tag:pii"]))) == []


@pytest.mark.parametrize("relationship", [SEEN, THEIRS])
def test_a_tag_decides_on_relationships_of_any_author(relationship: Relationship) -> None:
    assert opinions(replace(relationship, tags=frozenset([ACCEPTED]))) == [(PAIR, YES)]
    assert opinions(replace(relationship, tags=frozenset([REJECTED]))) == [(PAIR, NO)]


@pytest.mark.parametrize(("tag", "decision"), [(ACCEPTED, YES), (REJECTED, NO)])
def test_a_tag_on_a_composite_key_decides_on_the_whole_key_only(
    tag: str, decision: Decision
) -> None:
    composite = replace(THEIRS, pairs=(PAIR, OTHER), tags=frozenset([tag]))
    assert list(decisions_on(composite)) == [((PAIR, OTHER), decision)]


def test_a_relationship_that_joins_nothing_decides_nothing() -> None:
    assert list(decisions_on(replace(SEEN, pairs=(), tags=frozenset([REJECTED])))) == []


def test_a_deleted_join_of_several_columns_rejects_no_pair(graph: DataHubGraph, warn: Warn) -> None:
    urn = columns_urn([PAIR, OTHER])
    deleted = {urn: PAIR, columns_urn([OTHER]): OTHER}
    assert deleted_composites(deleted) == {urn}
    decisions = read_decisions(
        graph, namespace=NAMESPACE, relationships=(), deleted=deleted, warn=warn
    )
    assert decisions == {(OTHER,): NO}


def test_a_decision_about_several_columns_follows_a_renamed_table() -> None:
    new = TableId("postgres", "shop.public.airfields")
    moved = tuple(
        pair_of(replace(one, table=new), other) for one, other in ((CODE, ORIGIN), (NAME, CARRIER))
    )
    assert copy_to_new_names({(PAIR, OTHER): NO}, {AIRPORTS: new}) == {(PAIR, OTHER): NO, moved: NO}


def test_a_decision_names_the_tagger_or_else_the_first_owner() -> None:
    tagged = replace(SEEN, tags=frozenset([ACCEPTED]), owners=(BOB, ADA))
    assert opinions(tagged) == [(PAIR, replace(YES, by=BOB))]
    by = MetadataAttributionClass(time=7, actor=ADA)
    attributed = replace(tagged, attributed={ACCEPTED: by}, tagged=9)
    assert opinions(attributed) == [(PAIR, replace(YES, by=ADA, when=7))]
    assert opinions(replace(tagged, tagged=9)) == [(PAIR, replace(YES, by=BOB, when=9))]
    assigned = replace(tagged, tagged=9, tagged_by=ADA)  # the owner had to decide
    assert opinions(assigned) == [(PAIR, replace(YES, by=ADA, when=9))]
    nobody = replace(tagged, attributed={ACCEPTED: replace_actor(by)})
    assert opinions(nobody) == [(PAIR, replace(YES, when=7))]


def replace_actor(by: MetadataAttributionClass) -> MetadataAttributionClass:
    return MetadataAttributionClass(time=by.time, actor=AUTHOR)


def test_a_copied_tag_decides_nothing_but_keeps_what_it_replaced() -> None:
    copied = replace(SEEN, tags=frozenset([ACCEPTED]))

    def by(**details: str) -> dict[str, MetadataAttributionClass]:
        detail = {COPIED: "people decided elsewhere", **details}
        return {ACCEPTED: MetadataAttributionClass(time=9, actor=ADA, sourceDetail=detail)}

    assert opinions(replace(copied, attributed=by())) == []
    kept = by(**{REPLACED_BY: BOB, REPLACED_WHEN: "7"})
    assert opinions(replace(copied, attributed=kept)) == [(PAIR, replace(NO, by=BOB, when=7))]
    damaged = by(**{REPLACED_BY: BOB, REPLACED_WHEN: "soon"})
    assert opinions(replace(copied, attributed=damaged)) == []


def test_a_relationship_that_a_person_hid_is_rejected() -> None:
    assert opinions(replace(SEEN, removed=True)) == [(PAIR, NO)]
    accepted = replace(SEEN, removed=True, tags=frozenset([ACCEPTED]))
    assert set(opinions(accepted)) == {(PAIR, YES), (PAIR, NO)}


@pytest.mark.parametrize("tag", [ACCEPTED, REJECTED])
def test_a_relationship_that_we_hid_is_decided_by_its_tags(tag: str) -> None:
    hidden = replace(SEEN, removed=True, removed_by_us=True)
    assert opinions(hidden) == []
    assert opinions(replace(hidden, tags=frozenset([tag]))) == [
        (PAIR, YES if tag == ACCEPTED else NO)
    ]


def test_a_hidden_relationship_of_another_author_is_not_accepted() -> None:
    hidden = replace(THEIRS, removed=True)
    assert opinions(hidden) == []
    assert opinions(replace(hidden, tags=frozenset([ACCEPTED]))) == []
    assert opinions(replace(hidden, tags=frozenset([REJECTED]))) == [(PAIR, NO)]


def test_a_rejection_overrides_an_acceptance(warn: Warn, warnings: Warnings) -> None:
    said = [
        ((PAIR,), replace(NO, by=BOB)),
        ((PAIR,), replace(YES, by=ADA)),
        ((PAIR, OTHER), YES),
        ((PAIR,), NO),
    ]
    settled = merge_decisions(said, warn)
    assert settled == {(PAIR,): replace(NO, by=BOB), (PAIR, OTHER): YES}
    assert merge_decisions(reversed(said), warn) == settled
    assert warnings[0] == (
        "Join accepted and rejected",
        (
            "The rejection takes precedence. Remove the tag, the property value or the line of "
            "`decisions` that is wrong"
        ),
        f"{AT_ORIGIN}: accepted by {ADA}; rejected by {BOB}",
    )


AT_ORIGIN = "shop.public.airports.code = shop.public.flights.origin"


@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.REJECTED])
def test_of_dated_decisions_the_last_holds(
    warn: Warn, warnings: Warnings, verdict: Verdict
) -> None:
    [other] = {*Verdict} - {verdict}
    last = Decision(verdict, ADA, 86_400_000, "same codes", "line 2")
    said = [
        ((PAIR,), last),
        ((PAIR,), Decision(other, BOB, 7)),
        ((PAIR,), Decision(verdict, BOB, 5)),
    ]
    assert merge_decisions(said, warn) == merge_decisions(said[::-1], warn) == {(PAIR,): last}
    rule = "The later decision holds. Remove the tag, the property value or the line of "
    texts = sorted(
        [
            f"{verdict.value} by {ADA} on 1970-01-02 in line 2",
            f"{other.value} by {BOB} on 1970-01-01",
        ]
    )
    assert warnings[0] == (
        "Join accepted and rejected",
        f"{rule}`decisions` that is wrong",
        f"{AT_ORIGIN}: {'; '.join(texts)}",
    )
    undated = [*said, ((PAIR,), Decision(other))]
    assert merge_decisions(undated, warn)[(PAIR,)].verdict is Verdict.REJECTED


def assign(
    property_: str, *values: str | float, **others: MetadataAttributionClass | AuditStampClass
) -> StructuredPropertiesClass:
    assignment = StructuredPropertyValueAssignmentClass(property_, list(values))
    for name, value in others.items():
        setattr(assignment, name, value)
    return StructuredPropertiesClass([assignment])


def of_column(
    values: StructuredPropertiesClass, warn: Warn, column: ColumnId = ORIGIN
) -> list[tuple[Pair, Decision]]:
    urn = column_urn(column)
    found = decisions_of_column(urn, values, verdicts=VERDICTS, warn=warn)
    return [(pair, decision) for (pair,), decision in found]


def test_columns_list_confirmed_and_rejected_joins(warn: Warn, warnings: Warnings) -> None:
    v2 = column_urn(replace(CODE, path="[version=2.0].[type=string].code"))
    assert of_column(assign(CONFIRMED, v2, column_urn(NAME)), warn) == [
        (PAIR, YES),
        (pair_of(NAME, ORIGIN), YES),
    ]
    assert of_column(assign(DENIED, column_urn(CODE)), warn) == [(PAIR, NO)]
    assert of_column(assign(property_urn(NAMESPACE, "joinableWith"), v2), warn) == []
    assert warnings == []


def test_a_decision_names_who_set_the_property(warn: Warn) -> None:
    stamp = AuditStampClass(time=0, actor=BOB)
    attribution = MetadataAttributionClass(time=0, actor=ADA)
    code = column_urn(CODE)
    for others, actor in (
        ({"created": stamp}, BOB),
        ({"lastModified": stamp}, BOB),
        ({"lastModified": stamp, "attribution": attribution}, ADA),
    ):
        found = of_column(assign(CONFIRMED, code, **others), warn)
        assert found == [(PAIR, replace(YES, by=actor))]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("airports.code", "one of its joins does not name a column: "),
        (dataset_urn(AIRPORTS), "one of its joins does not name a column: "),
        (1.0, "one of its joins does not name a column: "),
        (column_urn(ORIGIN), "it is listed among its own joins"),
    ],
)
def test_values_that_name_no_other_column_are_reported(
    warn: Warn, warnings: Warnings, *, value: str | float, reason: str
) -> None:
    assert of_column(assign(CONFIRMED, value, column_urn(CODE)), warn) == [(PAIR, YES)]
    ((title, _, context),) = warnings
    assert title == "Entities skipped"
    assert context.startswith(f"{column_urn(ORIGIN)}: {reason}")


def define(gms: Gms, *urns: str) -> None:
    for urn in urns:
        definition = StructuredPropertyDefinitionClass(
            qualifiedName=urn.removeprefix("urn:li:structuredProperty:"),
            valueType="urn:li:dataType:datahub.urn",
            entityTypes=["urn:li:entityType:datahub.schemaField"],
            cardinality="MULTIPLE",
        )
        gms.put(urn, definition)


def read(graph: DataHubGraph, warn: Warn, *relationships: Relationship) -> dict[Pair, Decision]:
    decisions = read_decisions(
        graph,
        namespace=NAMESPACE,
        relationships=relationships,
        deleted={columns_urn([OTHER]): OTHER},
        warn=warn,
    )
    return {pair: decision for (pair,), decision in decisions.items()}


def test_decisions_are_read_from_everywhere(
    gms: Gms, graph: DataHubGraph, warn: Warn, warnings: Warnings
) -> None:
    define(gms, CONFIRMED, DENIED)
    third, fourth = pair_of(CODE, CARRIER), pair_of(NAME, ORIGIN)
    gms.put(column_urn(CARRIER), assign(CONFIRMED, column_urn(CODE)))
    gms.put(column_urn(NAME), assign(DENIED, column_urn(ORIGIN)))
    tagged = replace(SEEN, tags=frozenset([ACCEPTED]))
    assert read(graph, warn, tagged) == {PAIR: YES, OTHER: NO, third: YES, fourth: NO}
    assert warnings == []


def test_decisions_on_columns_take_two_requests(gms: Gms, graph: DataHubGraph, warn: Warn) -> None:
    define(gms, CONFIRMED, DENIED)
    for number in range(3):
        column = ColumnId(FLIGHTS, f"column {number}")
        gms.put(column_urn(column), assign(property_urn(NAMESPACE, "other"), "x"))
    before = len(gms.requests)
    assert read(graph, warn) == {OTHER: NO}
    assert len(gms.requests) == before + 2


def test_a_property_that_is_not_defined_or_removed_decides_nothing(
    gms: Gms, graph: DataHubGraph, warn: Warn
) -> None:
    assert read(graph, warn) == {OTHER: NO}
    define(gms, CONFIRMED, DENIED)
    gms.put(column_urn(CARRIER), assign(CONFIRMED, column_urn(CODE)))
    gms.put(column_urn(ORIGIN), assign(DENIED, column_urn(CODE)))
    gms.put(CONFIRMED, StatusClass(removed=True))
    assert read(graph, warn) == {OTHER: NO, PAIR: NO}


def test_without_structured_properties_the_other_decisions_count(warn: Warn) -> None:
    with Gms(without=["structuredProperty"]) as gms:
        assert read(gms.graph(retry_max_times=0), warn, replace(SEEN, removed=True)) == {
            OTHER: NO,
            PAIR: NO,
        }


def test_a_failing_server_is_an_error(gms: Gms, graph: DataHubGraph, warn: Warn) -> None:
    gms.fail("structuredProperty", times=9)
    with pytest.raises(UnreadableCatalogError, match="type structuredProperty cannot be read"):
        read(graph, warn)
