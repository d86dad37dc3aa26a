import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    MetadataChangeProposalClass,
    StructuredPropertiesClass,
)
from datahub.metadata.urns import SchemaFieldUrn, Urn

from datahub_hyperjoin.emit.patches import read_changes
from datahub_hyperjoin.emit.properties import emit_column, emit_dataset, partners
from datahub_hyperjoin.joins import CatalogEvidence, Join, Role, RowCounts, Verdict
from datahub_hyperjoin.metadata.partners import Partner, read_partners
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId, labels

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
Read = Callable[[MetadataWorkUnit], Mapping[str, Sequence[Any]]]

FLIGHTS, AIRPORTS = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airports.csv")
NAMES = {FLIGHTS: "flights", AIRPORTS: "airports"}
ORIGIN, DEST, SEASON = (ColumnId(FLIGHTS, name) for name in ("origin", "dest", "season"))
FAA = ColumnId(AIRPORTS, "faa")


def scores(joined: Sequence[Partner]) -> list[tuple[ColumnId, float]]:
    return [(partner.column, partner.score) for partner in joined]


@pytest.fixture
def read(describe: Describe) -> Read:
    """Return a function that reads the values of each property from a patch."""

    def values(unit: MetadataWorkUnit) -> dict[str, list[Any]]:
        return {
            re.split(r"[._]", change["path"])[-1]: [
                next(iter(value.values())) for value in change["value"]["values"]
            ]
            for change in describe(unit)["value"]["patch"]
        }

    return values


def test_partners_are_listed_best_first_at_both_ends(make_join: MakeJoin) -> None:
    joins = [make_join(FAA, ORIGIN, 0.9), make_join(FAA, DEST, 0.7), make_join(DEST, ORIGIN, 0.8)]
    for order in (joins, joins[::-1]):
        found = partners(order, NAMES)
        assert scores(found[FAA]) == [(ORIGIN, 0.9), (DEST, 0.7)]
        assert scores(found[DEST]) == [(ORIGIN, 0.8), (FAA, 0.7)]


def test_what_is_confirmed_and_references_precede_higher_scores(make_join: MakeJoin) -> None:
    confirmed = replace(
        make_join(FAA, SEASON, 0.3), catalog=CatalogEvidence(verdict=Verdict.ACCEPTED)
    )
    refers = replace(make_join(DEST, FAA, 0.5), role=Role.REFERENCE, referenced=FAA)
    joins = [make_join(FAA, ORIGIN, 0.9), refers, confirmed]
    assert scores(partners(joins, NAMES)[FAA]) == [(SEASON, 0.3), (DEST, 0.5), (ORIGIN, 0.9)]


def test_suggestions_keep_the_coherent_order_of_the_ranking(make_join: MakeJoin) -> None:
    joins = [make_join(FAA, ORIGIN, 0.9), make_join(FAA, DEST, 0.7), make_join(FAA, SEASON, 0.8)]
    ranks = {(FAA, DEST): 1, (FAA, SEASON): 2, (DEST, FAA): 1}
    assert scores(partners(joins, NAMES, ranks)[FAA]) == [(DEST, 0.7), (SEASON, 0.8), (ORIGIN, 0.9)]


def test_tables_of_one_title_are_told_apart_behind_it() -> None:
    tables = [
        TableId("file", name) for name in ("airports.csv", "us/airports.csv", "us/planes.csv")
    ]
    titles = dict(zip(tables, ("airports", "airports", "planes"), strict=True))
    assert [*labels(titles).values()] == ["airports", "airports in us", "planes"]


def test_tables_of_one_title_in_one_folder_have_their_full_names() -> None:
    tables = [TableId("file", name) for name in ("us/airports.csv", "us/airports.parquet")]
    assert labels(dict.fromkeys(tables, "airports")) == {table: table.name for table in tables}


def test_a_column_shows_urns_labels_and_the_best_score(read: Read) -> None:
    joined = [
        Partner(column=DEST, score=0.781, relation="one to many", share="96% of values"),
        Partner(column=ORIGIN, score=0.934),
        Partner(column=SEASON, score=0.9996, relation="same domain", share="8% of values"),
    ]
    flights = f"/dataset/{quote(dataset_urn(FLIGHTS), safe='')}/Columns?schemaFilter="
    assert read(emit_column(FAA, joined, NAMES, "io.lake")) == {
        "joinableWith": [column_urn(DEST), column_urn(ORIGIN), column_urn(SEASON)],
        "joinSuggestions": [
            "dest · flights (0.78, 96% of values, one to many)",
            "origin · flights (0.93)",
            "season · flights (8% of values, same domain)",
        ],
        "joinLinks": [
            f"[dest · flights]({flights}dest) · 0.78, 96% of values, one to many",
            f"[origin · flights]({flights}origin) · 0.93",
            f"[season · flights]({flights}season) · 8% of values, same domain",
        ],
        "bestJoinScore": [1.0],
    }


@pytest.mark.parametrize("path", ["dest", "fare (usd)", "a (0.50, x)"])
@pytest.mark.parametrize("share", ["", "100% of values"])
@pytest.mark.parametrize(
    "relation",
    ["many to one, accepted, not verified on data", "through a (b).csv, in two steps", "same key"],
)
@pytest.mark.parametrize("score", [1.0, 0.91])
@pytest.mark.parametrize("more", ["", "and 11 more tables by the same key"])
def test_what_a_column_lists_is_read_back(
    path: str, share: str, relation: str, score: float, more: str
) -> None:
    partner = Partner(column=ColumnId(FLIGHTS, path), score=score, relation=relation, share=share)
    proposal = emit_column(FAA, [partner], NAMES, "io.lake", more).metadata
    assert isinstance(proposal, MetadataChangeProposalClass)
    properties = StructuredPropertiesClass.from_obj(
        {"properties": [change["value"] for change in read_changes(proposal) or ()]}, tuples=False
    )
    values = {each.propertyUrn: each.values for each in properties.properties}
    assert read_partners(values, "io.lake") == [partner]


def test_links_have_a_name_without_dots(describe: Describe) -> None:
    patch = describe(emit_column(FAA, [Partner(column=DEST, score=1)], NAMES, "io.lake"))["value"]
    assert "/properties/urn:li:structuredProperty:io_lake_joinLinks" in {
        change["path"] for change in patch["patch"]
    }


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [(1.0, 0.999, ("100%", ">99%")), (0.29, 0.001, ("29%", "<1%")), (0.96, 0.5, ("96%", "50%"))],
)
def test_each_column_says_how_many_of_its_values_the_partner_has(
    left: float, right: float, words: tuple[str, str], make_join: MakeJoin
) -> None:
    join = make_join(ORIGIN, FAA, 0.9)
    first, second = (left, right) if (join.left, join.right) == (ORIGIN, FAA) else (right, left)
    evidence = replace(join.measured, left_containment=first, right_containment=second)
    found = partners([replace(join, evidence=evidence)], NAMES)
    assert [found[ORIGIN][0].share, found[FAA][0].share] == [f"{word} of values" for word in words]


RELATIONS = {
    Role.REFERENCE: ("many to one", "one to many"),
    Role.ONE_TO_ONE: ("one to one", "one to one"),
    Role.SIBLING: ("same key", "same key"),
    Role.SAME_DOMAIN: ("shared values", "shared values"),
}


@pytest.mark.parametrize("role", list(Role))
def test_each_column_says_what_its_partner_is_to_it(role: Role, make_join: MakeJoin) -> None:
    undirected = make_join(ORIGIN, FAA, 0.9)
    join = replace(undirected, role=role, referenced=FAA if role.is_directed else None)
    found = partners([join], NAMES)
    assert [found[ORIGIN][0].relation, found[FAA][0].relation] == [*RELATIONS[role]]


def test_a_column_and_its_dataset_name_the_crosswalk_of_a_join(
    make_join: MakeJoin, read: Read
) -> None:
    codes = TableId("file", "codes/airports.csv")
    via = ColumnId(codes, "code"), ColumnId(codes, "name")
    join = replace(make_join(FAA, DEST, 0.9), via=via)
    names = {**NAMES, codes: "airports in codes"}
    assert partners([join], names)[DEST][0].relation == "through airports in codes, in two steps"
    (line,) = read(emit_dataset(AIRPORTS, [join], names, "io.lake"))["suggestedJoins"]
    assert " through airports in codes · " in line


def test_columns_of_a_composite_key_say_so_unless_they_join_alone(make_join: MakeJoin) -> None:
    year = ColumnId(AIRPORTS, "year")
    key = replace(
        make_join(ORIGIN, FAA, 0.9), role=Role.REFERENCE, referenced=FAA, further=((year, SEASON),)
    )
    found = partners([key, make_join(ORIGIN, FAA, 0.5)], NAMES)
    assert found[SEASON] == [
        Partner(column=year, score=0.9, relation="many to one, in a key of 2 columns")
    ]
    assert found[year][0].relation == "one to many, in a key of 2 columns"
    [alone] = found[ORIGIN]
    assert (alone.score, alone.relation) == (0.5, "shared values")


@pytest.mark.parametrize(
    ("role", "of_flights", "of_airports"),
    [
        (Role.REFERENCE, "origin refers to", "faa is referenced by"),
        (Role.ONE_TO_ONE, "origin is one to one with", "faa is one to one with"),
        (Role.SIBLING, "origin refers to the same key as", "faa refers to the same key as"),
        (Role.SAME_DOMAIN, "origin shares values with", "faa shares values with"),
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
    assert line.startswith("(origin, season) refers to [(faa, year) · airports](/dataset/")


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
    assert line.startswith("faa shares values with [dest · flights](/dataset/urn%3Ali%3Adataset")
    assert re.search(
        r"/Columns\?schemaFilter=dest\) · \d+% of distinct values match · joinability 0.93$", line
    )
    address = line.split("(")[1].split("/Columns")[0]
    assert unquote(address) == f"/dataset/{dataset_urn(FLIGHTS)}"


def test_a_dataset_lists_its_ten_best_joins(make_join: MakeJoin, read: Read) -> None:
    joins = [make_join(ColumnId(FLIGHTS, f"code{n}"), FAA, 0.9 - n / 100) for n in range(12)]
    lines = read(emit_dataset(AIRPORTS, joins, NAMES, "io.lake"))["suggestedJoins"]
    assert len(lines) == 11
    assert lines[10] == "and 2 more joins, which the columns list"
    assert lines[0].endswith(" · joinability 0.90")


def test_a_dataset_says_what_a_join_to_a_key_drops(make_join: MakeJoin, read: Read) -> None:
    join = replace(make_join(FAA, ORIGIN, 1.0), role=Role.REFERENCE, referenced=FAA)
    evidence = replace(
        join.measured,
        left_counts=RowCounts(total=100, filled=100, matched=7),
        right_counts=RowCounts(total=1000, filled=990, matched=980),
    )
    accepted = CatalogEvidence(verdict=Verdict.ACCEPTED)
    join = replace(join, evidence=evidence, catalog=accepted)
    ends = {}
    for table in (FLIGHTS, AIRPORTS):
        (line,) = read(emit_dataset(table, [join], NAMES, "io.lake"))["suggestedJoins"]
        ends[table] = line.partition(") · ")[2]
    assert ends == {
        FLIGHTS: "accepted · 98% of rows match, an inner join drops 2%",
        AIRPORTS: "accepted · 7% of rows match",
    }
    found = partners([join], NAMES)
    assert found[FAA][0].notes == "7% of rows, one to many, accepted"


def test_names_do_not_turn_into_markdown(make_join: MakeJoin, read: Read) -> None:
    fare = ColumnId(FLIGHTS, "fare](https://example.org) `usd`")
    found = read(emit_dataset(AIRPORTS, [make_join(fare, FAA, 0.9)], NAMES, "io.lake"))
    assert (
        r"[fare\](https://example.org) \`usd\` · flights](/dataset/" in found["suggestedJoins"][0]
    )


def test_names_with_reserved_characters_come_back() -> None:
    column = ColumnId(TableId("file", "fares (2013), paid.csv"), "total, usd")
    urn = SchemaFieldUrn.from_string(column_urn(column))
    assert Urn.from_string(urn.parent).urn() == dataset_urn(column.table)
    assert unquote(urn.field_path) == "total, usd"
