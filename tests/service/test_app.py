"""Test what people see and decide on the pages of the web service."""

import json
import re
import time
from urllib.parse import quote

import pytest
from datahub.ingestion.graph.client import DataHubGraph

from browser.browsers import ADA, BOB, ORIGIN, Browser
from datahub_hyperjoin.graphql import accept, find_join, joins_of_dataset, undo
from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from lakes.lake import describe
from lakes.shop import Shop, table

ORDERS = f"/dataset?urn={quote(dataset_urn(table('orders')), safe='')}"


@pytest.fixture
def join(shop: Shop, browser: Browser) -> str:
    """Store a suggestion, sign Ada in to decide about it, and return the suggestion's URN."""
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    assert browser.sign_in(ADA) == 204
    return urn


def test_without_signing_in_nobody_sees_a_join(shop: Shop, browser: Browser) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.gms.requests.clear()
    for path in ("/", ORDERS):
        answer = browser.client.get(path)
        assert answer.status_code == 401
        assert "<h1>Sign in</h1>" in answer.text
        assert "customer" not in answer.text
    assert shop.gms.requests == []


def test_a_token_that_datahub_does_not_know_opens_no_session(browser: Browser) -> None:
    answer = browser.client.post("/sign-in", json={"token": "guess"}, headers={"Origin": ORIGIN})
    assert answer.status_code == 403
    assert answer.json() == {
        "error": "DataHub does not accept this token. Create a new one in its settings"
    }
    assert browser.client.get("/").status_code == 401


def test_the_page_of_a_dataset_shows_its_joins_with_their_evidence(
    shop: Shop, browser: Browser, join: str
) -> None:
    shop.suggest("refunds.region", "regions.id", 0.7)
    shop.suggest("orders.region", "regions.name", 0.6, role=Role.SAME_DOMAIN)
    page = browser.client.get(ORDERS).text
    assert "<h1>Joins of Orders</h1>" in page
    assert "Signed in as <b>ada</b>" in page
    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page) == [
        ("tables", "3"), ("joins", "2"), ("undecided", "2"), ("references", "1")
    ]  # fmt: skip
    data = browser.data(ORDERS)
    assert [table[1] for table in data["tables"]] == ["Customers", "Orders", "Regions"]
    assert data["tables"][data["focus"]][1] == "Orders"
    join_data = data["joins"][0]
    assert [data["columns"][end][1] for end in join_data[:2]] == ["customer", "id"]
    _, score, _, _, _, *evidence, _, _, direction, _ = join_data[2:]
    assert (score, direction) == (0.93, 1)
    assert evidence == [1.0, 0.5, "N_ONE", 1.0, 2.0]
    assert browser.data(ORDERS, "served")["urns"][0] == join


def test_all_joins_are_on_one_page(shop: Shop, browser: Browser, join: str) -> None:
    other = shop.suggest("refunds.region", "regions.id", 0.7)
    assert browser.data(name="served")["urns"] == [join, other]
    assert browser.data()["focus"] == -1


def test_a_decision_is_made_in_the_name_of_the_person_who_signed_in(
    shop: Shop, browser: Browser, join: str
) -> None:
    shop.gms.requests.clear()
    assert browser.decide(join, "accepted") == (200, {"decision": "accepted"})
    assert {request.token for request in shop.gms.requests} == {ADA}
    assert find_join(shop.graph, join).verdict is Verdict.ACCEPTED
    assert browser.data(name="served")["verdicts"] == ["accepted"]


def test_two_people_have_sessions_of_their_own(shop: Shop, browser: Browser, join: str) -> None:
    assert browser.decide(join, "accepted")[0] == 200
    assert browser.sign_in(BOB) == 204
    assert "Signed in as <b>bob</b>" in browser.client.get("/").text
    shop.gms.requests.clear()
    assert browser.decide(join, "rejected")[0] == 200
    assert {request.token for request in shop.gms.requests} == {BOB}
    assert find_join(shop.graph, join).verdict is Verdict.REJECTED


def test_a_rejected_join_stays_on_the_page_so_that_the_decision_can_be_changed(
    shop: Shop, browser: Browser, join: str
) -> None:
    assert browser.decide(join, "rejected")[0] == 200
    assert find_join(shop.graph, join).is_hidden
    assert browser.data(name="served")["verdicts"] == ["rejected"]
    assert browser.decide(join, "accepted")[0] == 200
    assert not find_join(shop.graph, join).is_hidden


def test_a_decision_is_undone(shop: Shop, browser: Browser, join: str) -> None:
    assert browser.decide(join, "rejected")[0] == 200
    assert browser.decide(join, "undone") == (200, {"decision": "undone", "was": ["rejected"]})
    assert browser.decide(join, "undone") == (200, {"decision": "undone", "was": []})
    assert browser.data(name="served")["verdicts"] == [""]
    assert not find_join(shop.graph, join).is_hidden
    assert browser.decide(join, "")[0] == 400


def test_columns_without_a_relationship_are_decided_about(shop: Shop, browser: Browser) -> None:
    assert browser.sign_in(ADA) == 204
    shop.list_partners("orders.country", "regions.country", 0.82, Role.SAME_DOMAIN)
    pair = joins_of_dataset(shop.graph, dataset_urn(table("orders")), members=True)[0].urn
    assert browser.decide(pair, "accepted") == (200, {"decision": "accepted"})
    assert browser.data(ORDERS, "served")["urns"] == [pair]
    assert browser.decide(pair, "rejected")[0] == 200
    assert browser.data(name="served")["verdicts"] == ["rejected"]
    assert browser.decide(pair, "undone") == (200, {"decision": "undone", "was": ["rejected"]})
    assert browser.data(ORDERS, "served")["urns"] == []


def test_a_server_that_refuses_a_decision_is_quoted(
    shop: Shop, browser: Browser, join: str
) -> None:
    browser.csrf = browser.data(name="served")["csrf"]
    shop.gms.fail("POST /api/graphql", 403, message="You may not edit tags", times=9)
    status, answer = browser.decide(join, "accepted")
    assert status == 403
    assert answer["error"].startswith("DataHub refuses join: 403 Forbidden: You may not edit tags.")


def test_a_server_that_fails_shows_a_page_with_the_reason(
    shop: Shop, browser: Browser, join: str
) -> None:
    assert join
    shop.gms.fail("POST /api/graphql", 500, message="disk full", times=9)
    answer = browser.client.get("/")
    assert answer.status_code == 502
    assert "DataHub does not answer all_joins: 500 Internal Server Error: disk full" in answer.text


@pytest.mark.parametrize(("path", "message"), [
    ("/dataset?urn=unheard", "the catalog has no dataset &#39;unheard&#39;"),
    ("/dataset", "the address names no dataset. Add its URN, as in /dataset?urn=URN"),
])  # fmt: skip
@pytest.mark.usefixtures("join")
def test_an_unknown_dataset_has_a_page_that_says_so(
    browser: Browser, path: str, message: str
) -> None:
    answer = browser.client.get(path)
    assert answer.status_code == 404
    assert message in answer.text


@pytest.mark.parametrize(("join", "decision"), [
    ("urn:li:dataset:(urn:li:dataPlatform:file,a,PROD)", "accepted"),
    ("orders.customer = customers.id", "rejected"),
    ("urn:li:erModelRelationship:a", "deleted"),
])  # fmt: skip
def test_only_decisions_about_joins_are_taken(browser: Browser, join: str, decision: str) -> None:
    assert browser.sign_in(ADA) == 204
    assert browser.decide(join, decision) == (
        400,
        {"error": "the request names no join or decision"},
    )


def test_signing_out_ends_the_session(shop: Shop, browser: Browser, join: str) -> None:
    csrf = browser.data(name="served")["csrf"]
    headers = {"Origin": ORIGIN, "X-CSRF-Token": csrf}
    cookies = dict(browser.client.cookies)
    assert browser.client.post("/sign-out", headers=headers).status_code == 204
    assert browser.client.get("/").status_code == 401
    # A copy of the cookie is of no use either.
    browser.client.cookies.update(cookies)
    browser.csrf = csrf
    assert browser.decide(join, "accepted") == (
        401,
        {"error": "your session has ended. Sign in"},
    )
    assert find_join(shop.graph, join).verdict is None


def test_names_are_escaped(shop: Shop, browser: Browser) -> None:
    shop.suggest("orders.</script><b>", "customers.id", 0.9)
    assert browser.sign_in(ADA) == 204
    assert "</script><b>" not in browser.client.get("/").text
    assert browser.data()["columns"][1][1] == "</script><b>"


def test_the_page_of_a_dataset_without_joins_says_so(shop: Shop, browser: Browser) -> None:
    describe(shop.gms, "shop.public.orders", ["id", "customer"], platform="postgres")
    assert browser.sign_in(ADA) == 204
    assert "DataHub has no joins here that you may see." in browser.client.get(ORDERS).text
    assert browser.data(ORDERS)["tables"] == [["shop.public.orders", "Orders", 0, -1, 2]]


@pytest.mark.usefixtures("join")
def test_the_overview_comes_before_the_list(browser: Browser) -> None:
    titles = {
        path: re.findall(r"<h2[^>]*>(.*?)<", browser.client.get(path).text)
        for path in ("/", ORDERS)
    }
    assert titles["/"] == ["Find a path", "Picture", "Tables and their joins"]
    assert titles[ORDERS] == titles["/"]


@pytest.mark.usefixtures("join")
def test_the_page_says_that_the_catalog_lacks_joins_that_follow(browser: Browser) -> None:
    page = browser.client.get(ORDERS).text
    assert "<i>Suggested joins</i> of a dataset counts the tables that only they reach" in page
    assert "lists them" not in page  # an option of a run


def test_a_dataset_of_which_all_joins_are_rejected_has_joins(browser: Browser, join: str) -> None:
    assert browser.decide(join, "rejected")[0] == 200
    assert "<h2>No joins found</h2>" not in browser.client.get(ORDERS).text


def test_a_decision_on_a_stale_page_is_refused(shop: Shop, browser: Browser, join: str) -> None:
    ada, bob = browser, Browser(shop)
    assert bob.sign_in(BOB) == 204
    for person in (ada, bob):
        person.csrf = person.data(name="served")["csrf"]
    assert bob.decide(join, "rejected")[0] == 200
    status, answer = ada.decide(join, "accepted")
    assert (status, answer["by"], answer["decision"]) == (409, "bob", "rejected")
    assert re.sub(r"\d", "0", answer["error"]) == (
        "bob rejected this join on 0000-00-00 at 00:00 UTC, since this page was loaded. Your "
        "decision was not stored. Decide again if it should replace that"
    )
    assert abs(answer["when"] / 1_000 - time.time()) < 600
    assert find_join(shop.graph, join).verdict is Verdict.REJECTED
    assert ada.decide(join, "accepted")[0] == 200  # Ada knows it now
    status, answer = bob.decide(join, "undone")
    assert (status, answer["by"], answer["decision"]) == (409, "ada", "accepted")


def test_a_page_that_says_what_it_shows_is_compared(
    shop: Shop, browser: Browser, join: str
) -> None:
    csrf = browser.data(name="served")["csrf"]
    accept(shop.graph, join)
    headers = {"Origin": ORIGIN, "X-CSRF-Token": csrf}

    def reject(seen: str) -> int:
        asked = {"join": join, "decision": "rejected", "seen": seen}
        status: int = browser.client.post("/decide", json=asked, headers=headers).status_code
        return status

    assert [reject(""), reject("rejected"), reject("accepted")] == [409, 409, 200]


def test_who_decided_the_same_before_is_told(shop: Shop, browser: Browser, join: str) -> None:
    csrf = browser.data(name="served")["csrf"]
    bob = Browser(shop)
    assert bob.sign_in(BOB) == 204
    assert bob.decide(join, "accepted")[0] == 200
    asked = {"join": join, "decision": "accepted", "seen": "", "why": "another reason"}
    headers = {"Origin": ORIGIN, "X-CSRF-Token": csrf}
    answer = browser.client.post("/decide", json=asked, headers=headers)
    assert answer.status_code == 200
    assert answer.json()["note"].startswith("bob accepted this join on ")
    assert find_join(shop.graph, join).description == ""


def test_who_decided_elsewhere_is_told_as_datahub_knows_it(
    shop: Shop, browser: Browser, join: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.csrf = browser.data(name="served")["csrf"]
    accept(shop.graph, join)
    envelope = {"created": {"actor": "urn:li:corpuser:carol", "time": 1}}
    told: dict[str, object] = {"aspects": {"globalTags": envelope}}
    monkeypatch.setattr(DataHubGraph, "get_entity_raw", lambda *_: told)
    assert browser.decide(join, "rejected")[1]["by"] == "carol"
    accept(shop.graph, join)
    browser.data(name="served")
    undo(shop.graph, join)
    told["aspects"] = {}
    status, answer = browser.decide(join, "rejected")
    assert (status, answer["by"], answer["decision"]) == (409, "", "undone")
    assert answer["error"].startswith("somebody undid the decision about this join, since")


@pytest.mark.parametrize("token", ["žeton", "a\nb", "a\0b", "\ud800", "токен", "a\x7f"])
def test_a_token_that_no_request_can_hold_is_refused(browser: Browser, token: str) -> None:
    sent = json.dumps({"token": token})  # escapes what UTF-8 lacks
    answer = browser.client.post("/sign-in", content=sent, headers={"Origin": ORIGIN})
    assert answer.status_code == 401
    assert answer.json() == {
        "error": "DataHub does not accept this token. Create a new one in its settings"
    }
