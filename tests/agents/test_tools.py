"""Test that each tool call reads the current catalog, and that decisions are stored."""

import re
from collections.abc import Callable

import pytest
from datahub.metadata.schema_classes import (
    GlobalTagsClass,
    QueryLanguageClass,
    QueryPropertiesClass,
    QuerySourceClass,
    QueryStatementClass,
    TagAssociationClass,
)

from datahub_hyperjoin.agents.answers import Answer
from datahub_hyperjoin.agents.tools import JoinTools
from datahub_hyperjoin.graphql import find_join
from datahub_hyperjoin.graphql.errors import UnknownNameError
from datahub_hyperjoin.graphql.find import find_path_end
from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn, query_urn
from lakes.lake import describe
from lakes.shop import Shop, table

CUSTOMER = "orders.customer → customers.id"
PAYER = "orders.payer → customers.id"
PREFIX = "shop.public."
WHOLE_CUSTOMER = f"{PREFIX}orders.customer → {PREFIX}customers.id"
WHOLE_PAYER = f"{PREFIX}orders.payer → {PREFIX}customers.id"
Tool = Callable[..., Answer]


@pytest.fixture
def tools(shop: Shop) -> JoinTools:
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.suggest("customers.region", "regions.id", 0.8)
    shop.suggest("orders.note", "regions.name", 0.99, role=Role.SAME_DOMAIN)
    return JoinTools(shop.graph)


SHARED = "orders.country = regions.country"


def joins(answer: Answer) -> list[str]:
    return [entry["join"] for entry in answer["joins"]]


def store_sql(shop: Shop, join: str, sql: str, **properties: str) -> None:
    stamp = {"time": 0, "actor": "urn:li:corpuser:a"}
    aspect = QueryPropertiesClass(
        statement=QueryStatementClass(value=sql, language=QueryLanguageClass.SQL),
        source=QuerySourceClass.MANUAL,
        customProperties=properties,
        created=stamp,  # type: ignore[arg-type]
        lastModified=stamp,  # type: ignore[arg-type]
    )
    shop.gms.put(query_urn(join), aspect)


def test_safe_joins_are_suggested(tools: JoinTools) -> None:
    found = tools.suggest_joins("orders")
    assert (found["answer"], found["of"]) == ("1 safe join", "orders")
    assert joins(found) == [CUSTOMER]
    assert joins(tools.suggest_joins("orders", "CUSTOMER")) == [CUSTOMER]
    assert joins(tools.suggest_joins("customers", other="orders")) == [
        "customers.id ← orders.customer"
    ]
    assert tools.suggest_joins("orders", skip=1)["joins"] == []


def test_where_no_join_is_safe_none_is_suggested(tools: JoinTools) -> None:
    found = tools.suggest_joins("orders", "note")
    assert (found["answer"], found["of"]) == ("no safe join known", "orders.note")
    assert len(found["unsafe"]) == 1
    nothing = "the catalog has no join of it"
    pair = tools.suggest_joins("orders", other="refunds")
    assert pair == {
        "answer": "no safe join known",
        "of": "orders with refunds",
        "why": nothing,
        "tables": {name: f"{PREFIX}{name}" for name in ("orders", "refunds")},
    }
    assert tools.joins_of_dataset("refunds")["why"] == nothing
    assert tools.suggest_joins("orders", other="orders")["why"] == nothing


def test_a_column_that_does_not_exist_has_no_answer(tools: JoinTools) -> None:
    for ask in (tools.suggest_joins, tools.joins_of_dataset):
        with pytest.raises(UnknownNameError, match=r"has no column 'amount'\. Did you mean"):
            ask("orders", "amount")


def test_all_joins_are_listed(tools: JoinTools) -> None:
    found = tools.joins_of_dataset("orders")
    assert (found["answer"], found["unsafe"]) == ("1 safe join", 1)
    assert joins(found) == [CUSTOMER, "orders.note = regions.name"]
    assert len(tools.joins_of_dataset("orders", "note")["joins"]) == 1
    assert len(tools.joins_of_dataset("orders", skip=1)["joins"]) == 1


def test_the_user_decides_how_much_is_safe(shop: Shop, tools: JoinTools) -> None:
    strict = JoinTools(shop.graph, min_score=0.95)
    assert strict.suggest_joins("orders")["answer"] == "no safe join known"
    assert strict.joins_of_dataset("orders")["answer"] == "no safe join known"
    assert strict.explain_join(CUSTOMER)["answer"] == "not safe"
    assert strict.find_join_path("orders", "regions")["answer"] == "no safe join known"
    assert strict.find_join_path("orders", "customers", (CUSTOMER,))["of"] == "the joins in `using`"
    assert tools.explain_join(CUSTOMER)["answer"] == "safe"


def test_sql_that_a_run_tested_is_told(shop: Shop, tools: JoinTools) -> None:
    urn = find_join(shop.graph, CUSTOMER).urn
    store_sql(shop, urn, "SELECT tested", model_version="1")
    for answer in (
        tools.suggest_joins("orders")["joins"][0],
        tools.explain_join(CUSTOMER),
        tools.find_join_path("orders", "customers"),
    ):
        assert answer["sql"] == "SELECT tested"
    longer = tools.find_join_path("orders", "regions")
    assert longer["sql"].startswith("SELECT * FROM shop.public.orders AS t1 JOIN")
    store_sql(shop, urn, "SELECT withdrawn", withdrawn_by="run-7")
    assert tools.explain_join(CUSTOMER)["sql"].startswith("SELECT * FROM shop.public.orders")


def test_a_path_is_found_and_limited(tools: JoinTools) -> None:
    found = tools.find_join_path("Orders", "regions")
    names = ("orders", "customers", "regions")
    assert found["datasets"] == [*names]
    assert found["tables"] == {name: f"{PREFIX}{name}" for name in names}
    limited = tools.find_join_path("orders", "regions", max_joins=1)
    assert limited["answer"] == "no safe join known"
    assert tools.find_join_path("orders", "Orders") == {
        "answer": "no safe join known",
        "why": "both are shop.public.orders. `suggest_joins` with the same dataset as `other` "
        "lists its joins with itself",
    }


def test_a_path_starts_or_ends_at_the_column_that_the_user_means(
    shop: Shop, tools: JoinTools
) -> None:
    shop.suggest("orders.payer", "customers.id", 0.9)
    assert tools.find_join_path("orders", "regions")["answer"] == "choose one"
    for start, end in (("orders.payer", "regions"), ("regions", "Orders.PAYER")):
        found = tools.find_join_path(start, end)
        assert found["answer"] == "safe path"
        assert "payer" in found["sql"]
        assert "t1.customer " not in found["sql"]
    assert tools.find_join_path("orders.payer", "regions.name") == {
        "answer": "no safe join known",
        "of": "orders.payer and regions.name",
        "tables": {name: f"{PREFIX}{name}" for name in ("orders", "regions")},
        "why": "no path of at most 6 joins over the named columns connects these datasets",
        "next": "Ask the user whether other columns are meant; then repeat without the column",
    }
    same = tools.find_join_path("orders.payer", "orders.customer")
    assert same["why"].startswith("both are shop.public.orders. `suggest_joins` with the same")


@pytest.mark.parametrize("name", ["orders.pay", "nowhere.id", "urn:li:schemaField:orders"])
def test_an_unknown_column_is_reported_as_by_the_command(
    shop: Shop, tools: JoinTools, name: str
) -> None:
    with pytest.raises(UnknownNameError) as expected:
        find_path_end(shop.graph, name)
    with pytest.raises(UnknownNameError, match=f"^{re.escape(str(expected.value))}$"):
        tools.find_join_path("regions", name)


def test_a_path_uses_the_joins_that_the_user_chose(shop: Shop, tools: JoinTools) -> None:
    shop.suggest("orders.payer", "customers.id", 0.9)
    assert tools.find_join_path("orders", "regions")["answer"] == "choose one"
    found = tools.find_join_path("orders", "regions", (PAYER,))
    assert joins(found)[0] == PAYER
    beside = "shop.public.customers.region → shop.public.regions.id"
    unused = tools.find_join_path("orders", "customers", (PAYER, beside))
    assert unused == {"answer": "no safe join known", "why": f"no safe path uses {beside}"}


def test_a_decision_counts_at_once(shop: Shop, tools: JoinTools) -> None:
    shop.suggest("orders.payer", "customers.id", 0.3)
    assert tools.explain_join(PAYER)["answer"] == "not safe"
    assert tools.accept_join(PAYER, "asked Ann") == {
        "answer": "accepted", "join": WHOLE_PAYER, "why": "asked Ann"
    }  # fmt: skip
    accepted = tools.explain_join(PAYER)
    assert (accepted["answer"], accepted["decided"], accepted["description"]) == (
        "safe", "accepted by people", "asked Ann"
    )  # fmt: skip
    assert tools.reject_join(CUSTOMER, "another key")["answer"] == "rejected"
    assert tools.explain_join(CUSTOMER)["unsafe"] == "a person rejected it"
    assert joins(tools.suggest_joins("orders")) == [PAYER]


def test_decisions_are_undone(shop: Shop, tools: JoinTools) -> None:
    before = tools.explain_join(CUSTOMER)
    tools.reject_join(CUSTOMER, "another key")
    assert joins(tools.joins_of_dataset("orders")) == ["orders.note = regions.name"]
    assert tools.undo_decision(CUSTOMER) == {"answer": "undone", "join": WHOLE_CUSTOMER}
    assert tools.explain_join(CUSTOMER) == {**before, "description": "another key"}
    assert CUSTOMER in joins(tools.suggest_joins("orders"))
    writes = len(shop.gms.writes)
    assert tools.undo_decision(CUSTOMER) == {"answer": "nobody has decided", "join": WHOLE_CUSTOMER}
    assert len(shop.gms.writes) == writes


def test_what_a_person_wrote_about_a_join_is_kept(shop: Shop, tools: JoinTools) -> None:
    tools.accept_join(CUSTOMER, "asked Ann")
    assert tools.reject_join(CUSTOMER, "Bob disagrees") == {
        "answer": "rejected", "join": WHOLE_CUSTOMER, "description_kept": "asked Ann"
    }  # fmt: skip
    join = find_join(shop.graph, CUSTOMER)
    assert (join.description, join.verdict) == ("asked Ann", Verdict.REJECTED)


def test_unknown_names_change_nothing(shop: Shop, tools: JoinTools) -> None:
    for ask in (tools.accept_join, tools.reject_join):
        with pytest.raises(UnknownNameError, match=r"^the catalog has no join 'x'"):
            ask("x", "why")
    with pytest.raises(UnknownNameError, match=r"^the catalog has no join 'x'"):
        tools.undo_decision("x")
    with pytest.raises(UnknownNameError, match=r"^the catalog has no dataset 'order'. Did you"):
        tools.suggest_joins("order")
    assert shop.gms.writes == []


def test_an_answer_reads_only_the_joins_on_its_way(shop: Shop, tools: JoinTools) -> None:
    for number in range(300):
        shop.suggest(f"refunds.a{number}", f"far{number}.id", 0.9)
    orders, regions = (dataset_urn(table(name)) for name in ("orders", "regions"))
    asked: list[tuple[Tool, tuple[str, ...], int]] = [
        # Two requests for the joins and decisions, and one for their SQL.
        (tools.suggest_joins, (orders,), 3),
        # Two at each of three datasets, and one for the SQL.
        (tools.find_join_path, (orders, regions), 7),
        # One by the name, one for the dataset, two for its joins, one for its columns and one for
        # the SQL.
        (tools.explain_join, (CUSTOMER,), 6),
    ]
    for tool, names, most in asked:
        shop.gms.requests.clear()
        assert "safe" in tool(*names)["answer"]
        assert len(shop.gms.requests) <= most


def test_of_a_join_that_was_accepted_and_rejected_the_rejection_holds(
    shop: Shop, tools: JoinTools
) -> None:
    urn = find_join(shop.graph, CUSTOMER).urn
    held = shop.gms.get(urn, GlobalTagsClass)
    assert held
    decided = [TagAssociationClass(f"urn:li:tag:join:{each}") for each in ("accepted", "rejected")]
    shop.gms.put(urn, GlobalTagsClass([*held.tags, *decided]))
    assert tools.explain_join(CUSTOMER)["unsafe"] == "a person rejected it"
    assert tools.suggest_joins("orders", other="customers")["answer"] == "no safe join known"


def test_two_columns_without_a_relationship_are_listed_explained_and_decided(
    shop: Shop, tools: JoinTools
) -> None:
    shop.list_partners("orders.country", "regions.country", 0.8, Role.SAME_DOMAIN)
    listed = f"{PREFIX}orders.country = {PREFIX}regions.country"
    assert SHARED not in joins(tools.joins_of_dataset("orders"))
    assert SHARED in joins(tools.joins_of_dataset("orders", members=True))
    told = tools.explain_join(listed)
    assert (told["answer"], told["decided"]) == (
        "not safe",
        "suggested with joinability 0.80; nobody decided",
    )
    assert tools.question_about(listed, "both are ours").startswith(f"Accept the join {listed}?")
    decided = tools.accept_join(listed, "both are ours")
    assert decided == {
        "answer": "accepted",
        "join": listed,
        "next": "it has no relationship yet: the next run reads the decision; no reason is stored",
    }
    assert tools.explain_join(listed)["decided"] == "accepted by people"
    assert "regions.country = orders.country" in joins(tools.joins_of_dataset("regions"))
    assert tools.reject_join(told["urn"], "they are not")["answer"] == "rejected"
    assert SHARED not in joins(tools.joins_of_dataset("orders", members=True))
    assert tools.undo_decision(told["urn"])["answer"] == "undone"
    assert tools.undo_decision(told["urn"])["answer"] == "nobody has decided"


def test_agents_decide_about_columns_that_nothing_joins(shop: Shop, tools: JoinTools) -> None:
    shop.list_partners("orders.country", "regions.country", 0.8, Role.SAME_DOMAIN)
    for name, column in (("orders", "agent"), ("refunds", "by")):
        describe(shop.gms, table(name).name, [column], platform="postgres")
    assert tools.accept_join("orders.agent = refunds.by", "said so")["answer"] == "accepted"
    (found,) = tools.joins_of_dataset("refunds")["joins"]
    assert found == {
        "join": "refunds.by = orders.agent",
        "means": "cardinality unknown; accepted by people",
        "unsafe": "no run has counted its rows yet, so they may repeat",
    }
    with pytest.raises(UnknownNameError, match="the catalog has no join"):
        tools.explain_join("orders.agent = refunds.order")
