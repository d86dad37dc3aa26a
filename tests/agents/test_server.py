"""Test the tools as an agent's client calls them, over the Model Context Protocol."""

import asyncio
import json
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent, Tool

from datahub_hyperjoin.agents.answers import MOST_BYTES
from datahub_hyperjoin.agents.server import create_server
from datahub_hyperjoin.agents.tools import JoinTools
from lakes.shop import Shop

CUSTOMER = "shop.public.orders.customer = shop.public.customers.id"


def tools_of(shop: Shop, *, read_only: bool = False) -> dict[str, Tool]:
    async def fetch() -> list[Tool]:
        async with Client(create_server(JoinTools(shop.graph), read_only=read_only)) as client:
            return (await client.list_tools()).tools

    return {tool.name: tool for tool in asyncio.run(fetch())}


def call(
    shop: Shop, tool: str, arguments: dict[str, Any], *, read_only: bool = False
) -> CallToolResult:
    async def ask() -> CallToolResult:
        async with Client(create_server(JoinTools(shop.graph), read_only=read_only)) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def ask(shop: Shop, tool: str, **arguments: object) -> dict[str, Any]:
    result = call(shop, tool, arguments)
    assert (result.is_error, result.structured_content) == (False, None), text(result)
    answer: dict[str, Any] = json.loads(text(result))
    return answer


def test_tools_say_what_they_do_to_the_catalog(shop: Shop) -> None:
    tools = tools_of(shop)
    hints = {
        name: (each.annotations.read_only_hint, each.annotations.destructive_hint)
        for name, each in tools.items()
        if each.annotations
    }
    assert hints == {
        "suggest_joins": (True, None),
        "find_join_path": (True, None),
        "explain_join": (True, None),
        "joins_of_dataset": (True, None),
        "accept_join": (False, False),
        "reject_join": (False, True),
        "undo_decision": (False, True),
    }
    assert all(each.annotations and each.annotations.idempotent_hint for each in tools.values())
    described = tools["suggest_joins"].input_schema["properties"]
    assert all(schema["description"] for schema in described.values())
    ends = tools["find_join_path"].input_schema["properties"]
    assert all("or of a column" in ends[name]["description"] for name in ("start", "end"))
    for name in ("accept_join", "reject_join", "undo_decision"):
        assert "only if the user has decided so" in (tools[name].description or "")
    assert not any("  " in (each.description or "") for each in tools.values())


def test_a_server_may_be_read_only(shop: Shop) -> None:
    assert sorted(tools_of(shop, read_only=True)) == [
        "explain_join",
        "find_join_path",
        "joins_of_dataset",
        "suggest_joins",
    ]
    shop.suggest("orders.customer", "customers.id", 0.93)
    asked = {"join": CUSTOMER, "why": "so"}
    for tool in ("accept_join", "reject_join"):
        assert call(shop, tool, asked, read_only=True).is_error
    assert call(shop, "undo_decision", {"join": CUSTOMER}, read_only=True).is_error
    assert shop.gms.writes == []


def test_the_server_tells_agents_not_to_guess(shop: Shop) -> None:
    server = create_server(JoinTools(shop.graph), read_only=True)
    assert "never guess a join" in (server.instructions or "")


def test_answers_are_text_that_programs_can_read(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    assert ask(shop, "suggest_joins", dataset="orders")["answer"] == "1 safe join"
    assert ask(shop, "joins_of_dataset", dataset="orders")["answer"] == "1 safe join"
    assert ask(shop, "explain_join", join=CUSTOMER)["answer"] == "safe"
    path = ask(shop, "find_join_path", start="orders", end="customers", using=[CUSTOMER])
    assert path["answer"] == "safe path"
    assert ask(shop, "accept_join", join=CUSTOMER, why="asked Ann")["answer"] == "accepted"
    assert ask(shop, "reject_join", join=CUSTOMER, why="asked Bob")["answer"] == "rejected"
    assert ask(shop, "undo_decision", join=CUSTOMER)["answer"] == "undone"


def test_names_that_are_unknown_or_ambiguous_bring_choices(shop: Shop) -> None:
    for column in ("billing.city", "delivery.city"):
        shop.suggest(f"orders.{column}", "regions.id", 0.9)
    assert ask(shop, "suggest_joins", dataset="orders", column="city") == {
        "answer": "unknown or ambiguous name",
        "why": "2 columns of 'shop.public.orders' have the name 'city': 'billing.city', "
        "'delivery.city'. Use the whole name of one",
    }
    found = ask(shop, "find_join_path", start="orders", end="region")
    assert found["answer"] == "unknown or ambiguous name"
    assert found["why"].endswith("Did you mean 'shop.public.regions'?")
    found = ask(shop, "find_join_path", start="orders.billing", end="regions")
    assert found == {
        "answer": "unknown or ambiguous name",
        "why": "the dataset 'shop.public.orders' has no column 'billing'. Did you mean "
        "'billing.city'?",
    }


def test_a_failing_server_is_an_error_with_its_reason(shop: Shop) -> None:
    shop.gms.fail("POST /api/graphql", message="disk full")
    result = call(shop, "joins_of_dataset", {"dataset": "orders"})
    assert result.is_error
    assert "DataHub does not answer datasets_by_name: 500" in text(result)
    assert "disk full" in text(result)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("said", "answer"), [
    (ElicitResult(action="accept", content={"accept": True}), "accepted"),
    (ElicitResult(action="accept", content={}), "accepted"),
    (ElicitResult(action="accept", content={"accept": False}), "not accepted"),
    (ElicitResult(action="decline"), "not accepted"),
    (ElicitResult(action="cancel"), "not accepted"),
])  # fmt: skip
def test_the_person_is_asked_whether_a_join_is_accepted(
    shop: Shop, said: ElicitResult, answer: str, mode: Literal["auto", "legacy"]
) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    asked: list[str] = []

    async def say(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context
        asked.append(params.message)
        return said

    async def ask() -> CallToolResult:
        server = create_server(JoinTools(shop.graph), read_only=False)
        async with Client(server, elicitation_callback=say, mode=mode) as client:
            return await client.call_tool("accept_join", {"join": CUSTOMER, "why": "so"})

    assert json.loads(text(asyncio.run(ask())))["answer"] == answer
    (question,) = asked
    assert question.startswith(
        "Accept the join shop.public.orders.customer → shop.public.customers.id? many-to-one: each "
    )
    assert question.endswith("suggested with joinability 0.93; nobody decided. Reason: so")
    assert bool(shop.gms.writes) is (answer == "accepted")


def test_nobody_is_asked_about_a_join_that_does_not_exist(shop: Shop) -> None:
    async def say(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        raise AssertionError(context, params)

    async def ask() -> CallToolResult:
        server = create_server(JoinTools(shop.graph), read_only=False)
        async with Client(server, elicitation_callback=say) as client:
            return await client.call_tool("accept_join", {"join": "x", "why": "so"})

    assert json.loads(text(asyncio.run(ask())))["answer"] == "unknown or ambiguous name"


@pytest.mark.parametrize("arguments", [
    {"join": CUSTOMER, "why": ""},
    {"join": CUSTOMER, "why": "x" * 1_001},
    {"join": "x" * 2_001, "why": "so"},
    {"join": CUSTOMER},
])  # fmt: skip
def test_a_decision_needs_a_join_and_a_reason(shop: Shop, arguments: dict[str, str]) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    assert call(shop, "reject_join", arguments).is_error
    assert shop.gms.writes == []


def test_a_dataset_with_many_joins_is_told_in_parts(shop: Shop) -> None:
    name = "customer_" * 12
    for number in range(12):
        shop.suggest(f"orders.{name}{number}", f"customers.{name}{number}", 0.93)
    shown = 0
    while True:
        result = call(shop, "suggest_joins", {"dataset": "orders", "skip": shown})
        assert len(text(result).encode()) <= MOST_BYTES
        answer = json.loads(text(result))
        shown += len(answer["joins"])
        if "more" not in answer:
            break
        assert answer["more"] == f"{12 - shown} more; repeat with skip={shown}"
    assert shown == 12
