"""Test the instructions for agents in the metadata of columns."""

import json
from typing import Any

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.emit.contexts import emit_contexts, find_foreign_contexts
from datahub_hyperjoin.emit.layers import withdraw
from datahub_hyperjoin.emit.patches import change_instructions, removes
from datahub_hyperjoin.metadata.urns import column_urn
from datahub_hyperjoin.tables import TableId
from lakes.chains import join

ORDERS = TableId("file", "orders")
JOIN = join("orders", "customers", 0.9, key="customer", fan_outs=(1.0, 21.5))
CUSTOMER, KEY = column_urn(JOIN.left), column_urn(JOIN.right)


def payload(unit: MetadataWorkUnit) -> Any:  # noqa: ANN401 - JSON
    return json.loads(unit.metadata.aspect.value)  # type: ignore[union-attr]


def test_only_the_instructions_change() -> None:
    written: dict[str, str] = {}
    [unit] = emit_contexts({ORDERS: [JOIN]}, frozenset(), written)
    assert payload(unit) == {
        "arrayPrimaryKeys": {},
        "patch": [{"op": "add", "path": "/instructions", "value": written[CUSTOMER]}],
        "forceGenericPatch": True,
    }
    assert (unit.get_urn(), unit.is_primary_source) == (CUSTOMER, False)


def test_the_instructions_of_somebody_else_stay() -> None:
    written: dict[str, str] = {}
    assert [*emit_contexts({ORDERS: [JOIN]}, {CUSTOMER}, written)] == []
    assert written == {}


def test_what_is_not_as_the_last_run_wrote_it_is_of_somebody_else() -> None:
    held = {"a": "ours", "b": "edited", "c": "theirs"}
    assert [*find_foreign_contexts(held, {"a": "ours", "b": "ours"})] == ["b", "c"]


def test_the_instructions_of_a_column_without_joins_are_taken_back() -> None:
    units, stored = withdraw(
        WrittenState(contexts={CUSTOMER: "a", KEY: "b"}),
        WrittenState(contexts={KEY: "c"}),
        namespace="a",
        threshold=75.0,
        warn=lambda *_: None,
    )
    assert [unit.get_urn() for unit in units] == [CUSTOMER]
    assert payload(units[0])["patch"][0]["op"] == "remove"
    assert stored.contexts == {KEY: "c"}


def test_taking_back_is_repeated_until_it_arrives() -> None:
    assert removes(change_instructions(CUSTOMER, ""))
    assert not removes(change_instructions(CUSTOMER, "a"))
    state = WrittenState(contexts={CUSTOMER: "a", KEY: "b"})
    assert state.held_in({(CUSTOMER, "aiContext")}).contexts == {CUSTOMER: "a"}
    orders = CUSTOMER.split("(", 1)[1].rpartition(",")[0]
    assert state.about({orders}, set()).contexts == {CUSTOMER: "a"}
    assert state.without(WrittenState(contexts={KEY: ""})).contexts == {CUSTOMER: "a"}
    assert state.merged_with(WrittenState(contexts={"x": "y"})).contexts.keys() == {
        CUSTOMER,
        KEY,
        "x",
    }
    assert orders in state.all_datasets
