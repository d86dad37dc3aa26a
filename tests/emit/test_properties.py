from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.urns import SchemaFieldUrn, Urn

from datahub_hyperjoin.emit.properties import Partner, emit_column, emit_dataset, partners
from datahub_hyperjoin.joins import CatalogEvidence, Join, Role, Suggestion, Verdict
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import column_urn, dataset_urn

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
Read = Callable[[MetadataWorkUnit], Mapping[str, Sequence[Any]]]

FLIGHTS, AIRPORTS = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airports.csv")
NAMES = {FLIGHTS: "flights", AIRPORTS: "airports"}
ORIGIN, DEST, FAA = (
    ColumnId(FLIGHTS, "origin"),
    ColumnId(FLIGHTS, "dest"),
    ColumnId(AIRPORTS, "faa"),
)


def suggestion(query: ColumnId, candidate: ColumnId, rank: int, joinability: float) -> Suggestion:
    return Suggestion(query=query, candidate=candidate, rank=rank, joinability=joinability)


def scores(joined: Sequence[Partner]) -> list[tuple[ColumnId, float]]:
    return [(partner.column, partner.score) for partner in joined]


@pytest.fixture
def read(describe: Describe) -> Read:
    """The values of each property that a patch sets, by the last part of its name."""

    def values(unit: MetadataWorkUnit) -> dict[str, list[Any]]:
        return {
            change["path"].split(".")[-1]: [
                next(iter(value.values())) for value in change["value"]["values"]
            ]
            for change in describe(unit)["value"]["patch"]
        }

    return values


def test_a_column_has_its_own_suggestions_by_rank(make_join: MakeJoin) -> None:
    joins = [make_join(FAA, ORIGIN, 0.9), make_join(FAA, DEST, 0.7)]
    suggestions = [suggestion(FAA, ORIGIN, 2, 0.9), suggestion(FAA, DEST, 1, 0.7)]
    assert scores(partners(suggestions, joins)[FAA]) == [(DEST, 0.7), (ORIGIN, 0.9)]


def test_the_other_end_has_the_pair_too(make_join: MakeJoin) -> None:
    suggestions = [suggestion(FAA, ORIGIN, 1, 0.9)]
    assert scores(partners(suggestions, [make_join(FAA, ORIGIN, 0.9)])[ORIGIN]) == [(FAA, 0.9)]


def test_what_others_ask_of_a_column_comes_after_what_it_asks(make_join: MakeJoin) -> None:
    joins = [make_join(FAA, DEST, 0.9), make_join(FAA, ORIGIN, 0.7), make_join(DEST, ORIGIN, 0.5)]
    own = [suggestion(DEST, ORIGIN, 1, 0.5)]
    assert scores(partners(own, joins)[DEST]) == [(ORIGIN, 0.5), (FAA, 0.9)]


def test_a_direction_keeps_its_own_score(make_join: MakeJoin) -> None:
    both = [suggestion(FAA, DEST, 1, 0.9), suggestion(DEST, FAA, 1, 0.6)]
    found = partners(both, [make_join(FAA, DEST, 0.9)])
    assert (scores(found[FAA]), scores(found[DEST])) == ([(DEST, 0.9)], [(FAA, 0.6)])


def test_a_column_shows_urns_labels_and_the_best_score(read: Read) -> None:
    joined = [
        Partner(column=DEST, score=0.781, relation="refers here"),
        Partner(column=ORIGIN, score=0.934),
    ]
    assert read(emit_column(FAA, joined, NAMES, "io.lake")) == {
        "joinableWith": [column_urn(DEST), column_urn(ORIGIN)],
        "joinSuggestions": ["flights.dest (0.78, refers here)", "flights.origin (0.93)"],
        "bestJoinScore": [0.93],
    }


RELATIONS = {
    Role.REFERENCE: ("referenced", "refers here"),
    Role.ONE_TO_ONE: ("one to one", "one to one"),
    Role.SIBLING: ("same key", "same key"),
    Role.SAME_DOMAIN: ("same domain", "same domain"),
}


@pytest.mark.parametrize("role", list(Role))
def test_each_column_says_what_its_partner_is_to_it(role: Role, make_join: MakeJoin) -> None:
    undirected = make_join(ORIGIN, FAA, 0.9)
    join = replace(undirected, role=role, referenced=FAA if role.is_directed else None)
    found = partners([], [join])
    assert [found[ORIGIN][0].relation, found[FAA][0].relation] == [*RELATIONS[role]]


def test_a_column_and_its_dataset_name_the_crosswalk_of_a_join(
    make_join: MakeJoin, read: Read
) -> None:
    codes = TableId("file", "codes/airports.csv")
    via = ColumnId(codes, "code"), ColumnId(codes, "name")
    join = replace(make_join(FAA, DEST, 0.9), via=via)
    assert partners([], [join])[DEST][0].relation == "through codes/airports.csv, in two steps"
    (line,) = read(emit_dataset(AIRPORTS, [join], NAMES, "io.lake"))["suggestedJoins"]
    assert " through codes/airports.csv · 0.90" in line


def test_columns_of_a_composite_key_say_so_unless_they_join_alone(make_join: MakeJoin) -> None:
    season, year = ColumnId(FLIGHTS, "season"), ColumnId(AIRPORTS, "year")
    key = replace(
        make_join(ORIGIN, FAA, 0.9), role=Role.REFERENCE, referenced=FAA, further=((year, season),)
    )
    found = partners([], [key, make_join(ORIGIN, FAA, 0.5)])
    assert found[season] == [
        Partner(column=year, score=0.9, relation="referenced, in a key of 2 columns")
    ]
    assert found[year][0].relation == "refers here, in a key of 2 columns"
    assert found[ORIGIN] == [Partner(column=FAA, score=0.9, relation="same domain")]


@pytest.mark.parametrize(
    ("role", "of_flights", "of_airports"),
    [
        (Role.REFERENCE, "origin refers to", "faa is referenced by"),
        (Role.ONE_TO_ONE, "origin is one to one with", "faa is one to one with"),
        (Role.SIBLING, "origin refers to the same key as", "faa refers to the same key as"),
        (Role.SAME_DOMAIN, "origin has the same domain as", "faa has the same domain as"),
    ],
)
def test_a_dataset_says_the_role_of_each_join(
    role: Role, of_flights: str, of_airports: str, make_join: MakeJoin, read: Read
) -> None:
    undirected = make_join(ORIGIN, FAA, 0.9)
    join = replace(undirected, role=role, referenced=FAA if role.is_directed else None)
    for table, start in ((FLIGHTS, of_flights), (AIRPORTS, of_airports)):
        (line,) = read(emit_dataset(table, [join], NAMES, "io.lake"))["suggestedJoins"]
        assert line.startswith(f"{start} [")


def test_a_dataset_lists_composite_keys_with_all_columns(make_join: MakeJoin, read: Read) -> None:
    further = ((ColumnId(AIRPORTS, "year"), ColumnId(FLIGHTS, "season")),)
    join = replace(
        make_join(ORIGIN, FAA, 0.9), role=Role.REFERENCE, referenced=FAA, further=further
    )
    (line,) = read(emit_dataset(FLIGHTS, [join], NAMES, "io.lake"))["suggestedJoins"]
    assert line.startswith("(origin, season) refers to [airports.(faa, year)](/dataset/")


def test_a_dataset_lists_references_first(make_join: MakeJoin, read: Read) -> None:
    columns = [ColumnId(FLIGHTS, f"code{number}") for number in range(5)]
    joins = [
        replace(
            make_join(column, FAA, 0.99 - role.place / 100),
            role=role,
            referenced=FAA if role.is_directed else None,
        )
        for column, role in zip(columns, [*Role][::-1], strict=False)
    ]
    accepted = replace(
        make_join(columns[4], FAA, 0.5), catalog=CatalogEvidence(verdict=Verdict.ACCEPTED)
    )
    lines = read(emit_dataset(FLIGHTS, [*joins, accepted], NAMES, "io.lake"))["suggestedJoins"]
    assert [line.split()[0] for line in lines] == ["code4", "code3", "code2", "code1", "code0"]


def test_a_value_is_cut_to_what_the_index_takes(read: Read) -> None:
    endless = ColumnId(FLIGHTS, "é" * 20000)
    joined = [Partner(column=endless, score=0.9)]
    (value,) = read(emit_column(FAA, joined, NAMES, "io.lake"))["joinSuggestions"]
    assert len(value.encode()) in {32765, 32766}


def test_a_dataset_links_to_what_it_joins_with(make_join: MakeJoin, read: Read) -> None:
    found = read(emit_dataset(AIRPORTS, [make_join(FAA, DEST, 0.93)], NAMES, "io.lake"))
    (line,) = found["suggestedJoins"]
    assert line.startswith("faa has the same domain as [flights.dest](/dataset/urn%3Ali%3Adataset")
    assert line.endswith("/Columns) · 0.93")
    address = line.split("(")[1].split("/Columns")[0]
    assert unquote(address) == f"/dataset/{dataset_urn(FLIGHTS)}"


def test_a_dataset_lists_its_ten_best_joins(make_join: MakeJoin, read: Read) -> None:
    joins = [make_join(ColumnId(FLIGHTS, f"code{n}"), FAA, 0.9 - n / 100) for n in range(12)]
    lines = read(emit_dataset(AIRPORTS, joins, NAMES, "io.lake"))["suggestedJoins"]
    assert len(lines) == 10
    assert lines[0].endswith("0.90")


def test_names_do_not_turn_into_markdown(make_join: MakeJoin, read: Read) -> None:
    fare = ColumnId(FLIGHTS, "fare](https://example.org) `usd`")
    found = read(emit_dataset(AIRPORTS, [make_join(fare, FAA, 0.9)], NAMES, "io.lake"))
    assert r"[flights.fare\](https://example.org) \`usd\`](/dataset/" in found["suggestedJoins"][0]


def test_names_with_reserved_characters_come_back() -> None:
    column = ColumnId(TableId("file", "fares (2013), paid.csv"), "total, usd")
    urn = SchemaFieldUrn.from_string(column_urn(column))
    assert Urn.from_string(urn.parent).urn() == dataset_urn(column.table)
    assert unquote(urn.field_path) == "total, usd"
