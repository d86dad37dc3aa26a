"""Test the queue, in which people decide about many joins."""

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from datahub.metadata.schema_classes import (
    CorpUserInfoClass,
    EditableERModelRelationshipPropertiesClass,
    OwnerClass,
    OwnershipClass,
)

from browser.browsers import ADA, ORIGIN, Browser
from datahub_hyperjoin.cli import main
from datahub_hyperjoin.graphql import accept, find_join, reject, review
from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from lakes.shop import Shop, table

ORDERS = dataset_urn(table("orders"))
ROLES = (Role.REFERENCE, Role.ONE_TO_ONE, Role.SIBLING, Role.SAME_DOMAIN)


@pytest.fixture
def joins(shop: Shop, browser: Browser) -> list[str]:
    """Store sixty suggestions, sign Ada in, and return their URNs."""
    assert browser.sign_in(ADA) == 204
    tables = ("orders", "customers", "refunds")
    return [
        shop.suggest(
            f"{tables[at % 3]}.c{at}", f"regions.id{at}", 0.99 - at / 100, role=ROLES[at % 4]
        )
        for at in range(60)
    ]


def urns(browser: Browser, **asked: object) -> list[str]:
    """Return the joins on a page of the queue; an underscore stands for a hyphen."""
    filters = urlencode({name.replace("_", "-"): value for name, value in asked.items()})
    listed: list[str] = browser.data(f"/queue?{filters}", "served")["urns"]
    return listed


def decide(browser: Browser, join: str, decision: str, **said: str) -> tuple[int, Any]:
    csrf = browser.data("/queue", "served")["csrf"]
    headers = {"Origin": ORIGIN, "X-CSRF-Token": csrf}
    asked = {"join": join, "decision": decision, **said}
    answer = browser.client.post("/decide", json=asked, headers=headers)
    return answer.status_code, answer.json()


def test_the_queue_has_the_joins_and_the_order_of_the_command(
    shop: Shop, browser: Browser, joins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(shop.graph, joins[0])
    reject(shop.graph, joins[1])
    shop.write("by hand", ("orders.hand", "customers.id"))
    monkeypatch.setenv("DATAHUB_GMS_URL", shop.gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", ADA)
    done = CliRunner().invoke(main, ["joins", "--undecided", "--format", "json"])
    told = [each["urn"] for each in json.loads(done.output)]
    assert len(told) == 58
    assert urns(browser) + urns(browser, start=50) == told
    page = browser.client.get("/queue").text
    assert '<dt>undecided</dt><dd><span id="count">58</span></dd>' in page
    assert "1 to 50" in page
    assert 'href="queue?start=50"' in page
    assert ("undecided", "58") in re.findall(
        r"<dt>(.*?)</dt><dd>(.*?)</dd>", browser.client.get("/").text
    )


def test_filters_in_the_address_choose_joins(
    shop: Shop, browser: Browser, joins: list[str]
) -> None:
    accept(shop.graph, joins[4])
    reject(shop.graph, joins[8])
    ada = OwnershipClass([OwnerClass("urn:li:corpuser:ada", "TECHNICAL_OWNER")])
    shop.gms.put(joins[12], ada)
    left = [urn for urn in joins if urn not in {joins[4], joins[8]}]
    assert urns(browser, role="reference") == [each for each in joins[0::4] if each in left]
    assert set(urns(browser, table="orders")) == {*joins[0::3]} & {*left}
    assert set(urns(browser, at_least=0.8)) == {*joins[:20]} & {*left}
    assert urns(browser, state="accepted") == [joins[4]]
    assert urns(browser, state="rejected") == [joins[8]]
    assert {joins[4], joins[8]} <= {*urns(browser, state="all", role="reference")}
    assert urns(browser, assignee="me") == [joins[12]]
    assert urns(browser, assignee="urn:li:corpuser:ada", role="reference") == [joins[12]]
    assert urns(browser, assignee="bob") == []
    assert urns(browser, table="orders", role="reference", at_least=0.9) == [joins[0]]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("role=key", 400, "'role' cannot be 'key'. It can be reference or one-to-one or sibling"),
        ("state=open", 400, "'state' cannot be 'open'. It can be undecided or accepted or"),
        ("at-least=nan", 400, "'at-least' cannot be 'nan'. It can be a number from 0"),
        ("start=-1", 400, "'start' cannot be '-1'. It can be a number from 0"),
        ("table=ordres", 404, "the catalog has no dataset 'ordres'"),
    ],
)
@pytest.mark.usefixtures("joins")
def test_a_wrong_filter_is_told(browser: Browser, query: str, status: int, message: str) -> None:
    answer = browser.client.get(f"/queue?{query}")
    assert answer.status_code == status
    assert message in answer.text.replace("&#39;", "'")


def test_a_page_of_many_joins_takes_few_requests(
    shop: Shop, browser: Browser, joins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "MOST_REVIEWED", 20)
    monkeypatch.setattr(review, "_PAGE", 5)
    shop.gms.requests.clear()
    listed = urns(browser)
    assert len(shop.gms.requests) <= 20
    # All references, of each band, come before the first one-to-one joins.
    assert listed[:15] == joins[0::4]
    assert set(listed[15:]) < {*joins[1::4]}
    assert len(listed) == 20
    served = browser.data("/queue", "served")
    assert served["total"] == 60
    page = browser.client.get("/queue").text
    assert "The queue lists the best 20; 40 more follow once these are decided" in page
    page = browser.client.get("/queue?at-least=0.7").text
    assert '<dd>up to <span id="count">' in page


def test_a_decision_has_a_reason(shop: Shop, browser: Browser, joins: list[str]) -> None:
    assert decide(browser, joins[0], "accepted", seen="", why=" same ids ")[0] == 200
    assert decide(browser, joins[4], "rejected", seen="")[0] == 200
    stored = find_join(shop.graph, joins[0])
    assert (stored.verdict, stored.description) == (Verdict.ACCEPTED, "same ids")
    assert find_join(shop.graph, joins[4]).description == ""
    page = browser.client.get("/queue?state=accepted").text
    assert "same ids" in page


def test_without_signing_in_the_queue_shows_nothing(shop: Shop, browser: Browser) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.gms.requests.clear()
    answer = browser.client.get("/queue")
    assert answer.status_code == 401
    assert "customer" not in answer.text
    assert shop.gms.requests == []


@pytest.mark.usefixtures("joins")
def test_names_are_escaped_and_scripts_have_the_nonce(shop: Shop, browser: Browser) -> None:
    urn = shop.suggest('orders."><script>alert(1)</script>', "customers.id", 0.999)
    shop.gms.put(urn, EditableERModelRelationshipPropertiesClass(description="<script>alert"))
    answer = browser.client.get("/queue?table=orders")
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert" in answer.text
    nonce = re.findall(r"nonce-([\w-]+)", answer.headers["content-security-policy"])[0]
    tags = re.findall(r"<(?:script|style)(?! type=\"application/json\")([^>]*)>", answer.text)
    assert tags == [f' nonce="{nonce}"'] * 2
    assert not re.search(r"<[^>]+ (?:on\w+|style)=", answer.text)


@pytest.mark.usefixtures("joins")
def test_the_queue_without_joins_says_so(browser: Browser) -> None:
    assert "No joins here that you may see." in browser.client.get("/queue?at-least=1").text


def test_the_page_of_a_dataset_leads_to_its_queue(browser: Browser, joins: list[str]) -> None:
    page = browser.client.get(f"/dataset?{urlencode({'urn': ORDERS})}").text
    found = re.search(r'<a href="(queue\?[^"]*)">Queue</a>', page)
    assert found
    listed = browser.data(f"/{found[1]}", "served")["urns"]
    assert {*listed} == {*joins[0::3]}
    assert f"<dt>undecided</dt><dd>{len(listed)}</dd>" in page
    assert '<a href="queue">Queue</a>' in browser.client.get("/").text


def assign(browser: Browser, join: str, who: str, **said: str) -> tuple[int, Any]:
    csrf = browser.data("/queue", "served")["csrf"]
    headers = {"Origin": ORIGIN, "X-CSRF-Token": csrf}
    asked = {"join": join, "assignee": who, **said}
    answer = browser.client.post("/assign", json=asked, headers=headers)
    return answer.status_code, answer.json()


def test_joins_are_assigned_and_released(shop: Shop, browser: Browser, joins: list[str]) -> None:
    for name in ("ada", "bob"):
        shop.gms.put(f"urn:li:corpuser:{name}", CorpUserInfoClass(active=True))
    assert assign(browser, joins[0], "me") == (200, {"owners": "ada"})
    assert assign(browser, joins[0], "bob") == (200, {"owners": "ada and bob"})
    assert urns(browser, assignee="bob") == [joins[0]]
    assert "assigned to <b>ada and bob</b>" in browser.client.get("/queue").text
    assert assign(browser, joins[0], "me", change="released") == (200, {"owners": "bob"})
    assert assign(browser, joins[0], "urn:li:corpuser:bob", change="released") == (
        200,
        {"owners": ""},
    )
    status, answer = assign(browser, joins[0], "nobody")
    assert (status, "DataHub refuses own_join" in answer["error"]) == (403, True)
    wrong = {"error": "the request names no join or person"}
    assert assign(browser, joins[0], " ") == assign(browser, "a = b", "me") == (400, wrong)


@pytest.mark.parametrize("path", ["/assign", "/decide"])
def test_another_site_changes_nothing(
    shop: Shop, browser: Browser, joins: list[str], path: str
) -> None:
    shop.gms.put("urn:li:corpuser:ada", CorpUserInfoClass(active=True))
    csrf = browser.data("/queue", "served")["csrf"]
    asked = {"join": joins[0], "assignee": "me", "decision": "accepted", "seen": ""}
    for headers in ({"Origin": "http://evil.example", "X-CSRF-Token": csrf}, {"Origin": ORIGIN}):
        assert browser.client.post(path, json=asked, headers=headers).status_code == 403
    assert urns(browser, assignee="me") == urns(browser, state="accepted") == []
