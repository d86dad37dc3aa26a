from collections.abc import Callable
from typing import Any

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.catalog.written_state import WrittenEdge, WrittenState
from datahub_hyperjoin.emit.layers import withdraw
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId

Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
ORDERS, CUSTOMERS = TableId("file", "orders"), TableId("file", "customers")
OWNER, BUYER = (column_urn(ColumnId(ORDERS, name)) for name in ("owner", "buyer"))
ID, NUMBER = (column_urn(ColumnId(CUSTOMERS, name)) for name in ("id", "number"))
QUERY, OTHER_QUERY = "urn:li:query:1", "urn:li:query:2"
NAMESPACE = "io.datahub.hyperjoin"
EDGE = WrittenEdge(ID, BUYER, adds_table=True)
LAST = WrittenState(
    columns=[BUYER, ID],
    datasets=[dataset_urn(CUSTOMERS), dataset_urn(ORDERS)],
    queries=[QUERY, OTHER_QUERY],
    lineage=[EDGE, WrittenEdge(NUMBER, OWNER, adds_table=True)],
)


class Warnings:
    """A report that collects warnings."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def warn(self, title: str, message: str, context: str) -> None:
        self.said.append(f"{title}: {message}: {context}")


Outcome = tuple[list[MetadataWorkUnit], WrittenState, list[str]]


def undo(current: WrittenState, last: WrittenState = LAST, *, threshold: float = 75) -> Outcome:
    report = Warnings()
    units, kept = withdraw(
        last, current, namespace=NAMESPACE, threshold=threshold, warn=report.warn
    )
    return units, kept, report.said


def paths(one: dict[str, Any]) -> list[str]:
    patch = one["value"]
    changes = patch["patch"] if isinstance(patch, dict) else patch
    assert {change["op"] for change in changes} == {"remove"}
    return [change["path"] for change in changes]


def test_what_is_found_again_is_left_alone() -> None:
    units, kept, said = undo(LAST)
    assert (units, said) == ([], [])
    assert kept is LAST


def test_columns_and_datasets_lose_our_properties_and_no_others(describe: Describe) -> None:
    current = LAST.model_copy(update={"columns": [ID], "datasets": [dataset_urn(CUSTOMERS)]})
    units, kept, _ = undo(current)
    column, dataset = map(describe, units)
    prefix = f"/properties/urn:li:structuredProperty:{NAMESPACE}"
    names = ("joinableWith", "joinSuggestions", "bestJoinScore")
    links = f"/properties/urn:li:structuredProperty:{NAMESPACE.replace('.', '_')}_joinLinks"
    assert (column["urn"], dataset["urn"]) == (BUYER, dataset_urn(ORDERS))
    assert paths(column) == [*(f"{prefix}.{name}" for name in names), links]
    assert paths(dataset) == [f"{prefix}.suggestedJoins"]
    assert kept is current


def test_queries_are_hidden_and_nothing_else_is(describe: Describe) -> None:
    units, _, _ = undo(WrittenState(), threshold=100)
    found = list(map(describe, units))
    hidden = [one["urn"] for one in found if one["aspect"] == "status"]
    assert hidden == [QUERY, OTHER_QUERY]
    assert all(one["value"] == {"removed": True} for one in found if one["urn"] in hidden)
    assert {one["change"] for one in found if one["urn"] not in hidden} == {"PATCH"}


def test_nothing_withdrawn_is_removed_as_an_entity() -> None:
    units, _, _ = undo(WrittenState(), threshold=100)
    assert len(units) == 2 + 2 + 2 + 1
    assert not any(unit.is_primary_source for unit in units)


@pytest.fixture
def removed(describe: Describe) -> Callable[[WrittenState, WrittenState], list[str]]:
    def run(last: WrittenState, current: WrittenState) -> list[str]:
        units, _, _ = undo(current, last, threshold=100)
        (one,) = map(describe, units)
        assert (one["urn"], one["aspect"]) == (dataset_urn(ORDERS), "upstreamLineage")
        return paths(one)

    return run


Removed = Callable[[WrittenState, WrittenState], list[str]]
UPSTREAM = f"/upstreams/{dataset_urn(CUSTOMERS)}"
FINE = "/fineGrainedLineages/JOINABLE_WITH"


def test_an_edge_takes_the_edge_of_its_tables_along(removed: Removed) -> None:
    assert removed(WrittenState(lineage=[EDGE]), WrittenState()) == [
        f"{FINE}/{BUYER}/NONE/{ID}",
        UPSTREAM,
    ]


def test_an_edge_of_tables_stays_if_someone_else_wrote_it(removed: Removed) -> None:
    last = WrittenState(lineage=[EDGE._replace(adds_table=False)])
    assert removed(last, WrittenState()) == [f"{FINE}/{BUYER}/NONE/{ID}"]


def test_an_edge_of_tables_stays_while_another_edge_uses_it(removed: Removed) -> None:
    current = WrittenState(lineage=[WrittenEdge(NUMBER, OWNER, adds_table=True)])
    assert removed(
        LAST.model_copy(update={"columns": [], "datasets": [], "queries": []}), current
    ) == [f"{FINE}/{BUYER}/NONE/{ID}"]


@pytest.fixture
def mistaken() -> Outcome:
    return undo(WrittenState(columns=[ID, OWNER]), threshold=75)


def test_too_much_at_once_is_taken_for_a_mistake(mistaken: Outcome) -> None:
    units, _, said = mistaken
    assert units == []
    (one,) = said
    assert one == (
        "Nothing withdrawn: Too many joins have disappeared since the last run. If that is "
        "correct, raise `stateful_ingestion.fail_safe_threshold`: 7 of the 8 columns, datasets, "
        "queries, documents and lineage edges that the last run wrote have no join now (88%); the "
        "threshold is 75%"
    )


def test_after_a_mistake_the_state_has_both_runs(mistaken: Outcome) -> None:
    _, kept, _ = mistaken
    assert kept.columns == sorted([BUYER, ID, OWNER])
    assert (kept.queries, kept.lineage) == (LAST.queries, sorted(LAST.lineage))


def test_the_edge_of_tables_goes_when_lineage_is_between_columns_only(removed: Removed) -> None:
    columns_only = WrittenState(lineage=[EDGE._replace(adds_table=False)])
    assert removed(WrittenState(lineage=[EDGE]), columns_only) == [UPSTREAM]
    assert undo(WrittenState(lineage=[EDGE]), columns_only)[0] == []
