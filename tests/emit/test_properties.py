from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.urns import SchemaFieldUrn, Urn

from datahub_hyperjoin.emit.properties import emit_column, emit_dataset, partners
from datahub_hyperjoin.joins import Join, Suggestion
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
    assert partners(suggestions, joins)[FAA] == [(DEST, 0.7), (ORIGIN, 0.9)]


def test_the_other_end_has_the_pair_too(make_join: MakeJoin) -> None:
    suggestions = [suggestion(FAA, ORIGIN, 1, 0.9)]
    assert partners(suggestions, [make_join(FAA, ORIGIN, 0.9)])[ORIGIN] == [(FAA, 0.9)]


def test_what_others_ask_of_a_column_comes_after_what_it_asks(make_join: MakeJoin) -> None:
    joins = [make_join(FAA, DEST, 0.9), make_join(FAA, ORIGIN, 0.7), make_join(DEST, ORIGIN, 0.5)]
    own = [suggestion(DEST, ORIGIN, 1, 0.5)]
    assert partners(own, joins)[DEST] == [(ORIGIN, 0.5), (FAA, 0.9)]


def test_a_direction_keeps_its_own_score(make_join: MakeJoin) -> None:
    both = [suggestion(FAA, DEST, 1, 0.9), suggestion(DEST, FAA, 1, 0.6)]
    found = partners(both, [make_join(FAA, DEST, 0.9)])
    assert found == {FAA: [(DEST, 0.9)], DEST: [(FAA, 0.6)]}


def test_a_column_shows_urns_labels_and_the_best_score(read: Read) -> None:
    assert read(emit_column(FAA, [(DEST, 0.781), (ORIGIN, 0.934)], NAMES, "io.lake")) == {
        "joinableWith": [column_urn(DEST), column_urn(ORIGIN)],
        "joinSuggestions": ["flights.dest (0.78)", "flights.origin (0.93)"],
        "bestJoinScore": [0.93],
    }


def test_a_value_is_cut_to_what_the_index_takes(read: Read) -> None:
    endless = ColumnId(FLIGHTS, "é" * 20000)
    (value,) = read(emit_column(FAA, [(endless, 0.9)], NAMES, "io.lake"))["joinSuggestions"]
    assert len(value.encode()) in {32765, 32766}


def test_a_dataset_links_to_what_it_joins_with(make_join: MakeJoin, read: Read) -> None:
    found = read(emit_dataset(AIRPORTS, [make_join(FAA, DEST, 0.93)], NAMES, "io.lake"))
    (line,) = found["suggestedJoins"]
    assert line.startswith("faa joins with [flights.dest](/dataset/urn%3Ali%3Adataset%3A%28")
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
