"""Test that decisions in a file are matched to columns, and have the same effect as in DataHub."""

from collections.abc import Callable

import pytest
from datahub.ingestion.graph.client import DataHubGraph

from browser.pages import profile
from datahub_hyperjoin.catalog.catalog import build_catalog_without_server
from datahub_hyperjoin.catalog.decisions import read_decisions
from datahub_hyperjoin.catalog.filed_decisions import (
    Decision,
    find_decided_columns,
    joins_decided,
    warn_of_unknown_columns,
)
from datahub_hyperjoin.decision_file import FiledDecision, WrittenDecision
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.relationships import columns_urn
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId, pair_of

Warnings = list[tuple[str, str, str]]
Warn = Callable[[str, str, str], None]

FLIGHTS, AIRLINES = (TableId("file", f"{name}.csv") for name in ("flights", "airlines"))
CARRIER, CODE = ColumnId(FLIGHTS, "carrier"), ColumnId(AIRLINES, "code")
PAIR = pair_of(CARRIER, CODE)
KNOWN = {table: table for table in (FLIGHTS, AIRLINES)}


def written(
    left: str = "flights.csv", right: str = "airlines.csv", verdict: Verdict = Verdict.ACCEPTED
) -> WrittenDecision:
    return WrittenDecision(
        left_table=left,
        left_columns=("carrier",),
        right_table=right,
        right_columns=("code",),
        verdict=verdict,
        place="line 2",
    )


def columns_of(decision: WrittenDecision, warn: Warn, **tables: TableId) -> object:
    known = KNOWN | {TableId("file", name): table for name, table in tables.items()}
    (filed,) = find_decided_columns([decision], known, warn)
    return filed.columns


def test_names_may_lack_what_all_names_of_a_platform_begin_with(
    warn: Warn, warnings: Warnings
) -> None:
    flights, airlines, other = (
        TableId("postgres", name) for name in ("air.ops.flights", "air.ref.airlines", "air.ops.a")
    )
    known = {table: table for table in (flights, airlines, other, FLIGHTS)}
    (filed,) = find_decided_columns([written("ops.flights", "ref.airlines")], known, warn)
    assert filed.columns == (pair_of(ColumnId(flights, "carrier"), ColumnId(airlines, "code")),)
    assert not warnings
    elsewhere = TableId("postgres", "sea.ops.ships")
    find_decided_columns(
        [written("ops.flights", "ref.airlines")], known | {elsewhere: elsewhere}, warn
    )
    assert [title for title, *_ in warnings] == ["Decision about an unknown table"] * 2


def test_names_may_have_what_all_names_of_the_file_begin_with(
    warn: Warn, warnings: Warnings
) -> None:
    flights, airlines = (TableId("postgres", name) for name in ("ops.flights", "ref.airlines"))
    known = {table: table for table in (flights, airlines, FLIGHTS)}
    (filed,) = find_decided_columns([written("air.ops.flights", "air.ref.airlines")], known, warn)
    assert filed.columns == (pair_of(ColumnId(flights, "carrier"), ColumnId(airlines, "code")),)
    assert not warnings
    # If only some names begin so, it may be another database.
    decisions = [written("air.ops.flights", "ref.airlines")]
    assert [each.columns for each in find_decided_columns(decisions, known, warn)] == [()]
    assert warnings[0][2].startswith("line 2: air.ops.flights. Did you mean ops.flights?")
    assert find_decided_columns([], known, warn) == ()


def test_tables_are_found_by_their_names_and_urns(warn: Warn, warnings: Warnings) -> None:
    assert columns_of(written(), warn) == (PAIR,)
    assert columns_of(written(dataset_urn(FLIGHTS)), warn) == (PAIR,)
    swapped = WrittenDecision(
        left_table="airlines.csv",
        left_columns=("code",),
        right_table="flights.csv",
        right_columns=("carrier",),
        verdict=Verdict.REJECTED,
    )
    assert columns_of(swapped, warn) == (PAIR,)
    assert warnings == []


def test_a_file_is_found_by_its_own_name_and_that_of_its_dataset(warn: Warn) -> None:
    assert columns_of(written("lake.csv"), warn, **{"lake.csv": FLIGHTS}) == (PAIR,)


def test_an_unknown_table_is_a_warning_that_knows_a_similar_name(
    warn: Warn, warnings: Warnings
) -> None:
    assert columns_of(written("flihgts.csv"), warn) == ()
    ((title, effect, context),) = warnings
    assert title == "Decision about an unknown table"
    assert effect.startswith("It has no effect, and stays in the file of `decisions`. Correct the")
    assert context == "line 2: flihgts.csv. Did you mean flights.csv?"


def test_a_removed_table_stays_known_by_its_urn_to_be_followed(
    warn: Warn, warnings: Warnings
) -> None:
    """Test that a removed table keeps its URN, because DataHub may know the table's new name."""
    old = TableId("file", "old.csv")
    assert columns_of(written(dataset_urn(old)), warn) == (pair_of(ColumnId(old, "carrier"), CODE),)
    assert [title for title, *_ in warnings] == ["Decision about an unknown table"]


def test_a_name_of_two_tables_asks_for_a_urn(warn: Warn, warnings: Warnings) -> None:
    other = TableId("postgres", "flights.csv")
    filed = find_decided_columns([written()], {**KNOWN, other: other}, warn)
    assert filed == (FiledDecision(written=written(), right=AIRLINES),)
    assert filed[0].columns == ()
    ((title, effect, context),) = warnings
    assert title == "Decision about an ambiguous table"
    assert "Write the URN of one of them into the file of `decisions`" in effect
    assert context == f"line 2: flights.csv is {dataset_urn(FLIGHTS)} or {dataset_urn(other)}"


def test_an_unknown_column_is_a_warning(warn: Warn, warnings: Warnings) -> None:
    filed = find_decided_columns([written()], KNOWN, warn)
    codes = profile(AIRLINES, [ColumnId(AIRLINES, "codes")])
    unread = profile(FLIGHTS, fault="is empty")
    warn_of_unknown_columns(filed, [codes, unread], warn)
    ((title, effect, context),) = warnings
    assert title == "Decision about an unknown column"
    assert effect.startswith("It has no effect. Correct the name in the file of `decisions`")
    assert context == "line 2: airlines.csv has no column code. Did you mean codes?"


@pytest.mark.parametrize("in_datahub", [Verdict.ACCEPTED, Verdict.REJECTED])
@pytest.mark.parametrize("in_file", [Verdict.ACCEPTED, Verdict.REJECTED])
def test_a_rejection_precedes_in_datahub_and_in_the_file(
    graph: DataHubGraph, warn: Warn, warnings: Warnings, in_datahub: Verdict, in_file: Verdict
) -> None:
    filed = find_decided_columns([written(verdict=in_file)], KNOWN, warn)
    stated = [*joins_decided(filed), ((PAIR,), Decision(in_datahub))]
    decisions = read_decisions(
        graph, namespace="n", relationships=(), deleted={}, filed=stated, warn=warn
    )
    agree = in_datahub is in_file
    assert decisions[(PAIR,)].verdict is (in_file if agree else Verdict.REJECTED)
    assert [warning[0] for warning in warnings] == (["Join accepted and rejected"] * (not agree))
    for _, rule, pair in warnings:
        assert rule == (
            "The rejection takes precedence. Remove the tag, the property value or the line of "
            "`decisions` that is wrong"
        )
        assert pair.startswith("airlines.csv.code = flights.csv.carrier: accepted")
        assert f"{in_file.value} in the file of `decisions`, line 2" in pair


def test_an_acceptance_in_the_file_undoes_a_deletion_in_datahub(
    graph: DataHubGraph, warn: Warn, warnings: Warnings
) -> None:
    filed = find_decided_columns([written()], KNOWN, warn)
    decisions = read_decisions(
        graph,
        namespace="n",
        relationships=(),
        deleted={columns_urn([PAIR]): PAIR},
        filed=joins_decided(filed),
        warn=warn,
    )
    assert decisions == {(PAIR,): Decision(Verdict.ACCEPTED)}
    assert warnings == []


def test_without_a_server_the_file_is_all_that_is_known(warn: Warn, warnings: Warnings) -> None:
    tables = [profile(table).table for table in (FLIGHTS, AIRLINES)]
    both = WrittenDecision(
        left_table="flights.csv",
        left_columns=("org", "year"),
        right_table="airlines.csv",
        right_columns=("org", "y"),
        verdict=Verdict.REJECTED,
    )
    catalog = build_catalog_without_server(tables, [written(), both, written("gone.csv")], warn)
    assert catalog.facts.accepted == {PAIR}
    assert catalog.facts.of(PAIR).descriptions == ("accepted by people",)
    pairs = [
        (ColumnId(FLIGHTS, own), ColumnId(AIRLINES, other))
        for own, other in (("org", "org"), ("year", "y"))
    ]
    assert catalog.facts.composites[columns_urn(pairs)].verdict is Verdict.REJECTED
    assert catalog.facts.rejected == frozenset()
    assert [bool(each.columns) for each in catalog.filed] == [True, True, False]
    assert len(warnings) == 1
