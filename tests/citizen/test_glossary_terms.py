"""Test glossary terms of columns over several runs."""

from dataclasses import replace
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    AuditStampClass,
    GlossaryNodeInfoClass,
    GlossaryTermAssociationClass,
    GlossaryTermInfoClass,
    GlossaryTermsClass,
    StatusClass,
)

from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.urns import column_urn
from datahub_hyperjoin.tables import pair_of
from gms import Gms
from lakes.lake import column
from lakes.quick_runs import PLANE, Runs, join_of

EMIT = {"glossary_terms": True}


def refer(referring: str, referenced: str = "airports.csv.faa") -> Join:
    """Make a join whose column `referring` refers to the key `referenced`."""
    key = column(referenced)
    return replace(join_of(pair_of(column(referring), key)), referenced=key)


ORIGIN, DEST, HOME = map(refer, ("flights.csv.origin", "planes.csv.maker", "airlines.csv.title"))
KEY = "airlines.csv.carrier"
AIRPORTS = (ORIGIN, DEST)
FAA, ORIGIN_URN, DEST_URN = (
    column_urn(column(name))
    for name in ("airports.csv.faa", "flights.csv.origin", "planes.csv.maker")
)
THEIRS = "urn:li:glossaryTerm:secret"
STAMP = AuditStampClass(time=1, actor="urn:li:corpuser:ada")


def terms(gms: Gms, urn: str) -> list[str]:
    aspect = gms.get(urn, GlossaryTermsClass)
    return [term.urn for term in aspect.terms] if aspect else []


def own_terms(gms: Gms) -> dict[str, str]:
    """Map the names of all visible terms to their URNs."""
    found = {}
    for urn in gms.urns("glossaryTerm"):
        info, status = gms.get(urn, GlossaryTermInfoClass), gms.get(urn, StatusClass)
        if info and not (status and status.removed):
            found[info.name or ""] = urn
    return found


def remove(gms: Gms, column_: str, term: str) -> None:
    """Remove a term as DataHub's pages do."""
    kept = [GlossaryTermAssociationClass(urn) for urn in terms(gms, column_) if urn != term]
    gms.put(column_, GlossaryTermsClass(terms=kept, auditStamp=STAMP))


def news(gms: Gms, before: int) -> set[tuple[str, str]]:
    return {(w.entity, w.aspect) for w in gms.writes[before:] if w.entity != "dataJob"}


def test_a_group_of_columns_becomes_a_term_of_all_of_them(gms: Gms, quick: Runs) -> None:
    gms.put(FAA, GlossaryTermsClass([GlossaryTermAssociationClass(THEIRS)], STAMP))
    quick([*AIRPORTS, PLANE], emit=EMIT)
    [(name, term)] = own_terms(gms).items()
    assert name == "Airport faa"
    assert terms(gms, FAA) == [THEIRS, term]
    assert terms(gms, ORIGIN_URN) == terms(gms, DEST_URN) == [term]
    info = gms.get(term, GlossaryTermInfoClass)
    assert info
    assert info.parentNode
    node = gms.get(info.parentNode, GlossaryNodeInfoClass)
    assert node
    assert node.name == "Joinable columns"
    before = len(gms.writes)
    quick([*AIRPORTS, PLANE], emit=EMIT)
    assert news(gms, before) == set()


def test_without_the_switch_there_are_no_terms(gms: Gms, quick: Runs) -> None:
    quick(AIRPORTS)
    assert own_terms(gms) == {}


def test_a_term_goes_and_comes_back_with_its_group(gms: Gms, quick: Runs) -> None:
    gms.put(FAA, GlossaryTermsClass([GlossaryTermAssociationClass(THEIRS)], STAMP))
    quick(AIRPORTS, emit=EMIT)
    first = own_terms(gms)
    quick([ORIGIN], emit=EMIT)
    assert own_terms(gms) == {}
    assert (terms(gms, FAA), terms(gms, ORIGIN_URN)) == ([THEIRS], [])
    quick(AIRPORTS, emit=EMIT)
    assert own_terms(gms) == first
    assert terms(gms, ORIGIN_URN) == [*first.values()]
    quick(AIRPORTS)
    assert (own_terms(gms), terms(gms, FAA)) == ({}, [THEIRS])


def test_a_term_keeps_its_urn_while_its_columns_change(gms: Gms, quick: Runs) -> None:
    quick(AIRPORTS, emit=EMIT)
    first = own_terms(gms)
    quick([*AIRPORTS, HOME], emit=EMIT)
    assert own_terms(gms) == first
    assert terms(gms, column_urn(column("airlines.csv.title"))) == [*first.values()]
    quick([ORIGIN, HOME], emit=EMIT)
    assert own_terms(gms) == first
    assert terms(gms, DEST_URN) == []


def test_a_term_that_a_person_removes_from_a_column_stays_away(gms: Gms, quick: Runs) -> None:
    quick(AIRPORTS, emit=EMIT)
    [term] = own_terms(gms).values()
    remove(gms, DEST_URN, term)
    for _ in range(3):
        before = len(gms.writes)
        quick(AIRPORTS, emit=EMIT)
        assert terms(gms, DEST_URN) == []
        assert news(gms, before) == set()
    assert terms(gms, ORIGIN_URN) == [term]
    # A column has many joins with the others of its term: about none of them is decided.
    assert [join.verdict for join in all_joins(gms.graph())] == [None, None]
    gms.put(DEST_URN, GlossaryTermsClass([GlossaryTermAssociationClass(term)], STAMP))
    quick(AIRPORTS, emit=EMIT)
    quick(AIRPORTS)
    assert terms(gms, DEST_URN) == []


def test_a_write_that_was_lost_is_repeated(gms: Gms, quick: Runs) -> None:
    quick.loses = lambda unit: unit.get_urn() == DEST_URN
    quick(AIRPORTS, emit=EMIT)
    quick.loses = lambda _: False
    quick(AIRPORTS, emit=EMIT)
    assert terms(gms, DEST_URN) == [*own_terms(gms).values()]


def test_a_persons_name_stays_and_such_a_term_is_never_hidden(gms: Gms, quick: Runs) -> None:
    quick(AIRPORTS, emit=EMIT)
    [term] = own_terms(gms).values()
    info = gms.get(term, GlossaryTermInfoClass)
    assert info
    info.name = "IATA airport code"
    gms.put(term, info)
    quick(AIRPORTS, emit=EMIT)
    assert own_terms(gms) == {"IATA airport code": term}
    quick([ORIGIN], emit=EMIT)
    assert own_terms(gms) == {"IATA airport code": term}
    assert terms(gms, ORIGIN_URN) == []
    quick(AIRPORTS, emit=EMIT)
    assert (own_terms(gms), terms(gms, DEST_URN)) == ({"IATA airport code": term}, [term])


@pytest.mark.parametrize("hides", [True, False])
def test_a_term_that_a_person_hides_or_deletes_stays_away(
    hides: bool,  # noqa: FBT001 - a case
    gms: Gms,
    quick: Runs,
) -> None:
    joins = [*AIRPORTS, refer("flights.csv.carrier", KEY), refer("delays.csv.carrier", KEY)]
    quick(joins, emit=EMIT)
    quick(joins, emit=EMIT)
    term = own_terms(gms)["Airport faa"]
    if hides:
        gms.put(term, StatusClass(removed=True))
    else:
        gms.delete(term)
    for _ in range(3):
        before = len(gms.writes)
        quick(joins, emit=EMIT)
        assert own_terms(gms).keys() == {"Airline carrier"}
        assert news(gms, before) == set()


def test_two_pipelines_share_a_term(gms: Gms, quick: Runs) -> None:
    quick(AIRPORTS, pipeline="first", emit=EMIT)
    first = own_terms(gms)
    before = len(gms.writes)
    quick(AIRPORTS, pipeline="second", emit=EMIT)
    assert ("schemaField", "glossaryTerms") not in news(gms, before)
    quick([PLANE], pipeline="second", emit=EMIT)
    assert own_terms(gms) == first
    assert terms(gms, DEST_URN) == [*first.values()]


def test_the_term_of_a_table_that_is_not_read_stays(gms: Gms, quick: Runs, lake: Path) -> None:
    quick(AIRPORTS, emit=EMIT)
    first = own_terms(gms)
    lake.joinpath("airports.csv").unlink()
    quick([PLANE], emit=EMIT)
    assert own_terms(gms) == first
    assert terms(gms, FAA) == [*first.values()]
