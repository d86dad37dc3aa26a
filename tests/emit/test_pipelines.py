"""Test that joins of several pipelines keep the metadata of the oldest pipeline."""

from dataclasses import replace

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StatusClass, StructuredPropertiesClass

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.emit.existing import ExistingState
from datahub_hyperjoin.emit.pipelines import (
    ForeignMetadata,
    OtherPipeline,
    find_older_pipelines,
    read_foreign_metadata,
)
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.joins import Join, Role
from datahub_hyperjoin.metadata.relationships import from_aspect, join_urn, pairs_in, to_aspect
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId
from lakes.lake import EVIDENCE, column, table

AIRLINE, CARRIER = column("airlines.csv.carrier"), column("flights.csv.carrier")
FAA, ORIGIN = column("airports.csv.faa"), column("flights.csv.origin")
SHOWN = Join(
    left=AIRLINE,
    right=CARRIER,
    joinability=0.9,
    evidence=EVIDENCE,
    role=Role.REFERENCE,
    referenced=AIRLINE,
)
OWN = replace(SHOWN, joinability=0.6, role=Role.SAME_DOMAIN, referenced=None)
OTHER = replace(OWN, left=FAA, right=ORIGIN)
URN = join_urn(SHOWN)
QUERY = "urn:li:query:1"


def published(*joins: Join) -> Publication:
    return Publication(joins=joins, titles={}, model_version="1")


def pipeline(
    name: str, *, since: int = 1, recent: bool = True, relationships: tuple[str, ...] = (URN,)
) -> OtherPipeline:
    ends = (column_urn(AIRLINE), column_urn(CARRIER))
    state = WrittenState(
        relationships=dict.fromkeys(relationships, ends),
        columns=[*ends],
        datasets=[dataset_urn(table("airlines.csv"))],
        queries=[QUERY],
        since=since,
    )
    return OtherPipeline(name=name, state=state, active=True, recent=recent)


def catalog(join: Join = SHOWN, *, removed: bool = False) -> Catalog:
    aspect = to_aspect(join, "0")
    shown = Relationship(
        urn=URN,
        aspect=aspect,
        pairs=pairs_in(aspect),
        ours=True,
        recorded=False,
        join=from_aspect(aspect),
        removed=removed,
    )
    return Catalog(tables=(), relationships={URN: shown})


@pytest.fixture
def foreign() -> ForeignMetadata:
    return read(published(OWN, OTHER), catalog(), [pipeline("first")])


def read(publication: Publication, known: Catalog, older: list[OtherPipeline]) -> ForeignMetadata:
    return read_foreign_metadata(publication, known, older, older)


@pytest.mark.parametrize(
    ("other", "own", "is_older"),
    [
        (pipeline("b"), None, True),
        (pipeline("b"), WrittenState(since=2), True),
        (pipeline("b"), WrittenState(since=1), False),
        (pipeline("Z"), WrittenState(since=1), True),
        (pipeline("b", since=3), WrittenState(since=2), False),
        (pipeline("b", recent=False), None, False),
    ],
)
def test_a_pipeline_that_began_earlier_and_still_runs_is_older(
    *, other: OtherPipeline, own: WrittenState | None, is_older: bool
) -> None:
    assert find_older_pipelines([other], own, "a") == ((other,) if is_older else ())


def test_the_score_and_the_role_of_the_older_pipeline_are_taken_over(
    foreign: ForeignMetadata,
) -> None:
    adopted = foreign.adopt(published(OTHER, OWN))
    assert [*adopted.joins] == [SHOWN, OTHER]


def test_the_field_paths_of_the_catalog_stay(foreign: ForeignMetadata) -> None:
    typed = ColumnId(AIRLINE.table, "[version=2.0].[type=string].carrier")
    [join] = foreign.adopt(published(replace(OWN, left=typed))).joins
    assert (join.left, join.referenced) == (typed, typed)


def test_what_an_older_pipeline_shows_is_written_as_it_is(foreign: ForeignMetadata) -> None:
    existing = foreign.protect(ExistingState(closed=frozenset({"urn:li:query:2"})))
    assert [*existing.edited] == [URN]
    assert existing.edited[URN].customProperties["joinability"] == "0.9000"
    assert existing.closed == {URN, QUERY, "urn:li:query:2"}


def test_what_no_older_pipeline_shows_is_written_anew() -> None:
    for hidden, older in ((True, [pipeline("first")]), (False, [])):
        assert read(published(OWN), catalog(removed=hidden), older).relationships == {}
    not_shown = pipeline("first", relationships=())
    assert read(published(OWN), catalog(), [not_shown]).relationships == {}


@pytest.mark.parametrize(
    ("shown", "own", "is_left"),
    [(SHOWN, replace(OWN, evidence=None), True), (replace(SHOWN, evidence=None), OWN, False)],
)
def test_what_was_verified_precedes_what_was_not(*, shown: Join, own: Join, is_left: bool) -> None:
    other = [pipeline("first")]
    for older in ([], other):
        foreign = read_foreign_metadata(published(own), catalog(shown), older, other)
        assert [*foreign.relationships] == ([URN] if is_left else [])


def test_only_joins_that_come_or_go_are_news(foreign: ForeignMetadata) -> None:
    ends = (column_urn(FAA), column_urn(ORIGIN))
    last = WrittenState(relationships={join_urn(OTHER): ends})
    assert foreign.changed_entities(published(OWN, OTHER), last) == set()
    around = {*ends, *(dataset_urn(end.table) for end in (FAA, ORIGIN))}
    assert foreign.changed_entities(published(OWN), last) == around
    assert foreign.changed_entities(published(OWN, OTHER), WrittenState()) == around
    further = (column("airports.csv.year"), column("flights.csv.year"))
    wide = replace(OTHER, further=(further,))
    assert foreign.changed_entities(published(wide), WrittenState()) == {
        *around,
        *map(column_urn, further),
    }


def test_columns_of_an_older_pipeline_are_described_only_if_there_are_news(
    foreign: ForeignMetadata,
) -> None:
    def unit(urn: str, aspect: StructuredPropertiesClass | StatusClass) -> MetadataWorkUnit:
        return MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect).as_workunit()

    listed = StructuredPropertiesClass(properties=[])
    units = [unit(column_urn(end), listed) for end in (AIRLINE, CARRIER, FAA)]
    units.append(unit(column_urn(AIRLINE), StatusClass(removed=False)))
    assert [*foreign.without_foreign_properties(units, {column_urn(CARRIER)})] == units[1:]
