import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import add_terms, remove_terms
from datahub_hyperjoin.emit.terms import (
    assign_terms,
    create_term,
    is_own_term,
    name_terms,
    term_urn,
)
from datahub_hyperjoin.metadata.urns import AUTHOR, column_urn
from datahub_hyperjoin.model.domains import ColumnGroup
from datahub_hyperjoin.tables import ColumnId, TableId

Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
GOLDEN = Path(__file__).parent / "golden" / "terms.json"
NAMESPACE = "io.datahub.hyperjoin"
FLIGHTS, AIRPORTS = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airports.csv")
TITLES = {FLIGHTS: "flights.csv", AIRPORTS: "airports.csv"}
FAA, DEST, ORIGIN, VIA = (
    ColumnId(table, name)
    for table, name in (
        (AIRPORTS, "faa"),
        (FLIGHTS, "dest"),
        (FLIGHTS, "origin"),
        (FLIGHTS, "via"),
    )
)
GROUP = ColumnGroup(members=(FAA, DEST, ORIGIN), key=FAA)
TERM = term_urn(NAMESPACE, FAA)


def urns(*columns: ColumnId) -> set[str]:
    return set(map(column_urn, columns))


def keyless(*names: str) -> ColumnGroup:
    return ColumnGroup(members=tuple(ColumnId(FLIGHTS, name) for name in names), key=None)


def test_terms_are_written_as_agreed(describe: Describe) -> None:
    units = [
        *create_term(TERM, GROUP, "Airport faa", TITLES, NAMESPACE),
        add_terms(column_urn(FAA), [TERM], exists=False, actor=AUTHOR),
        add_terms(column_urn(DEST), [TERM], exists=True, actor=AUTHOR),
        remove_terms(column_urn(VIA), [TERM]),
    ]
    found = list(map(describe, units))
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert not any(unit.is_primary_source for unit in units)


@pytest.mark.parametrize(
    ("group", "name"),
    [
        (GROUP, "Airport faa"),
        (ColumnGroup(members=(DEST,), key=ColumnId(AIRPORTS, "airport_code")), "Airport code"),
        (ColumnGroup(members=(DEST,), key=ColumnId(AIRPORTS, "AirportID")), "Airport ID"),
        (keyless("country", "country", "land"), "Country"),
        (keyless("?"), "nyc/flights.csv.?"),
    ],
)
def test_terms_are_named_after_their_columns(group: ColumnGroup, name: str) -> None:
    assert name_terms({TERM: group}, TITLES) == {TERM: name[:1].upper() + name[1:]}


def test_terms_of_one_name_name_their_table() -> None:
    other = ColumnGroup(members=(ColumnId(AIRPORTS, "country"),), key=None)
    names = name_terms({"a": keyless("country"), "b": other}, TITLES)
    assert names == {"a": "Country (flights.csv)", "b": "Country (airports.csv)"}


def test_a_group_without_a_term_is_named_by_its_key() -> None:
    assert assign_terms([GROUP], {}, NAMESPACE) == {TERM: GROUP}
    assert is_own_term(TERM, NAMESPACE)
    assert not is_own_term("urn:li:glossaryTerm:secret", NAMESPACE)


@pytest.mark.parametrize(
    ("known", "kept"),
    [
        (urns(DEST, ORIGIN), True),
        (urns(DEST, ORIGIN, VIA), True),
        (urns(DEST, VIA), True),
        (urns(DEST, VIA, ColumnId(FLIGHTS, "x")), False),
        (urns(VIA), False),
    ],
)
def test_a_group_keeps_the_term_of_half_its_columns(known: set[str], kept: bool) -> None:  # noqa: FBT001 - a case
    found = assign_terms([GROUP], {"urn:li:glossaryTerm:old": known}, NAMESPACE)
    assert found == {"urn:li:glossaryTerm:old" if kept else TERM: GROUP}


def test_of_two_halves_one_keeps_the_term_and_the_other_gets_a_new_one() -> None:
    rest = ColumnGroup(members=(VIA, ColumnId(FLIGHTS, "x")), key=None)
    known = {TERM: urns(*GROUP.members, *rest.members)}
    found = assign_terms([rest, GROUP], known, NAMESPACE)
    assert found == {TERM: GROUP, term_urn(NAMESPACE, VIA): rest}
