"""Test that people who have signed in to DataHub's pages are known to the service."""

import logging
from collections.abc import Iterator

import pytest
from starlette.datastructures import Headers

from browser.browsers import ADA, BOB, ORIGIN, PEOPLE, Browser
from datahub_hyperjoin.cli.connect import frontend_connector
from datahub_hyperjoin.graphql import find_join
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.service.app import datahub_cookies
from datahub_hyperjoin.service.errors import SharedSignInError
from lakes.shop import Shop
from services.frontend import Frontend, serve_frontend

DATAHUB = "http://127.0.0.1:9002"


@pytest.fixture
def frontend(shop: Shop) -> Iterator[Frontend]:
    with serve_frontend(shop.gms.url, PEOPLE) as running:
        yield running


class DataHubBrowser(Browser):
    """A browser in which somebody has signed in to DataHub's pages."""

    def __init__(self, shop: Shop, frontend: Frontend, token: str = "") -> None:
        connect = frontend_connector(frontend.url)
        super().__init__(shop, connect=connect, shared_with=DATAHUB)
        self._frontend = frontend
        if token:
            self.go_as(token)

    def go_as(self, token: str) -> None:
        """Replace the browser's cookies with those of the person who has the token."""
        self.client.headers["Cookie"] = f"theme=dark; {self._frontend.cookie(token)}"


@pytest.fixture
def join(shop: Shop) -> str:
    return shop.suggest("orders.customer", "customers.id", 0.93)


@pytest.fixture
def ada(shop: Shop, frontend: Frontend) -> DataHubBrowser:
    return DataHubBrowser(shop, frontend, ADA)


def test_who_has_signed_in_to_datahub_sees_the_joins_at_once(
    ada: DataHubBrowser, join: str
) -> None:
    page = ada.client.get("/").text
    assert "Signed in as <b>ada</b>" in page
    assert ada.data(name="served")["urns"] == [join]
    assert 'id="sign-out"' not in page
    assert ada.client.post("/sign-out", headers={"Origin": ORIGIN}).status_code == 404


def test_datahub_stores_each_decision_in_the_name_of_the_person(
    shop: Shop, ada: DataHubBrowser, join: str
) -> None:
    csrf = ada.data(name="served")["csrf"]
    shop.gms.requests.clear()
    ada.csrf = csrf
    assert ada.decide(join, "accepted") == (200, {"decision": "accepted"})
    assert {request.token for request in shop.gms.requests} == {ADA}
    assert find_join(shop.graph, join).verdict is Verdict.ACCEPTED


def test_without_datahubs_cookies_nobody_sees_a_join(
    shop: Shop, frontend: Frontend, join: str
) -> None:
    browser = DataHubBrowser(shop, frontend)
    for cookie in ("", "theme=dark", "PLAY_SESSION=signed.guess.sseug", "actor=urn:li:corpuser:a"):
        answer = browser.client.get("/", headers={"Cookie": cookie})
        assert answer.status_code == 401
        assert f'<a href="{DATAHUB}" target="_blank"' in answer.text
        assert "customer" not in answer.text
    assert frontend.cookies == []
    assert browser.client.post("/sign-in", json={"token": ADA}).status_code == 404
    assert shop.gms.urns("erModelRelationship") == [join]


@pytest.mark.parametrize("cookie", [
    "PLAY_SESSION=signed.guess.sseug; actor=urn:li:corpuser:ada",
    f"PLAY_SESSION=signed.{ADA}.forged; actor=urn:li:corpuser:ada",
    f"PLAY_SESSION=signed.{ADA}.{ADA[::-1]}; actor=urn:li:corpuser:bob",
])  # fmt: skip
@pytest.mark.usefixtures("join")
def test_cookies_that_datahub_does_not_accept_open_no_session(
    shop: Shop, frontend: Frontend, cookie: str
) -> None:
    browser = DataHubBrowser(shop, frontend)
    answer = browser.client.get("/", headers={"Cookie": cookie})
    assert (answer.status_code, "customer" in answer.text) == (401, False)
    assert frontend.cookies == [cookie]


def test_a_session_ends_with_that_of_datahub(
    frontend: Frontend, ada: DataHubBrowser, join: str
) -> None:
    ada.csrf = ada.data(name="served")["csrf"]
    frontend.expired.add(ADA)
    assert ada.decide(join, "accepted") == (401, {"error": "your session has ended. Sign in"})
    assert ada.client.get("/").status_code == 401
    assert ada.client.get("/path?start=a&end=b").status_code == 401


def test_another_person_in_the_same_browser_has_another_session(
    shop: Shop, ada: DataHubBrowser, join: str
) -> None:
    ada.csrf = ada.data(name="served")["csrf"]
    ada.go_as(BOB)
    # The page that Ada left open does not decide for Bob.
    assert ada.decide(join, "accepted") == (
        403,
        {"error": "the page is of another session. Load it again"},
    )
    assert find_join(shop.graph, join).verdict is None
    assert "Signed in as <b>bob</b>" in ada.client.get("/").text
    ada.csrf = ""
    assert ada.decide(join, "rejected")[0] == 200
    ada.go_as(ADA)
    assert "Signed in as <b>ada</b>" in ada.client.get("/").text


@pytest.mark.parametrize("origin", ["http://evil.example", DATAHUB, "null", None])
def test_a_decision_that_another_site_sends_is_refused_before_datahub_is_asked(
    shop: Shop, frontend: Frontend, ada: DataHubBrowser, join: str, origin: str | None
) -> None:
    ada.csrf = ada.data(name="served")["csrf"]
    frontend.cookies.clear()
    status, _ = ada.decide(join, "accepted", Origin=origin)
    assert (status, frontend.cookies) == (403, [])
    assert find_join(shop.graph, join).verdict is None


@pytest.mark.parametrize("csrf", ["", "guess", None])
def test_a_decision_without_the_secret_of_the_page_is_refused(
    shop: Shop, ada: DataHubBrowser, join: str, csrf: str | None
) -> None:
    ada.csrf = ada.data(name="served")["csrf"]
    assert ada.decide(join, "accepted", **{"X-CSRF-Token": csrf})[0] == 403
    assert find_join(shop.graph, join).verdict is None


@pytest.mark.usefixtures("join")
def test_only_datahubs_own_cookies_reach_datahub(frontend: Frontend, ada: DataHubBrowser) -> None:
    assert ada.client.get("/").status_code == 200
    assert {*frontend.cookies} == {frontend.cookie(ADA)}


def test_nobody_acts_with_the_credentials_of_the_machine(
    shop: Shop, frontend: Frontend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", shop.gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", ADA)
    monkeypatch.setenv("DATAHUB_SYSTEM_CLIENT_ID", "__datahub_system")
    monkeypatch.setenv("DATAHUB_SYSTEM_CLIENT_SECRET", "secret")
    browser = DataHubBrowser(shop, frontend, BOB)
    frontend.expired.add(BOB)
    shop.gms.requests.clear()
    assert browser.client.get("/").status_code == 401
    assert {request.token for request in shop.gms.requests} == {"nobody"}


def test_a_frontend_that_fails_is_no_end_of_the_session(
    shop: Shop, ada: DataHubBrowser, join: str
) -> None:
    ada.csrf = ada.data(name="served")["csrf"]
    shop.gms.fail("POST /api/graphql", 500, message="disk full", times=99)
    for answer in (ada.client.get("/"), ada.client.get("/path?start=a&end=b")):
        assert answer.status_code == 502
        assert "disk full" in answer.text
    assert ada.decide(join, "accepted")[0] == 502
    shop.gms.heal()
    assert ada.decide(join, "accepted")[0] == 200


def test_cookies_are_neither_logged_nor_shown(
    shop: Shop, frontend: Frontend, ada: DataHubBrowser, join: str,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    texts = [ada.client.get("/").text, str(ada.decide(join, "accepted"))]
    shop.gms.fail("POST /api/graphql", 500, times=99)
    texts.append(ada.client.get("/").text)
    shop.gms.heal()
    frontend.expired.add(ADA)
    texts.append(ada.client.get("/").text)
    for text in (*texts, caplog.text):
        assert ADA not in text
        assert "PLAY_SESSION" not in text


def test_a_browser_sends_both_cookies_or_counts_as_signed_out() -> None:
    both = "PLAY_SESSION=a; actor=b"
    assert datahub_cookies(Headers(raw=[(b"cookie", b"PLAY_SESSION=a"), (b"cookie", b"actor=b")]))
    assert datahub_cookies(Headers({"cookie": f"x=PLAY_SESSION; {both};"})) == both
    for cookies in ("PLAY_SESSION=a", "actor=b", "", "PLAY_SESSIONS=a; actor=b"):
        assert datahub_cookies(Headers({"cookie": cookies})) == ""


def test_an_address_of_another_server_is_refused(shop: Shop) -> None:
    with pytest.raises(SharedSignInError) as refused:
        frontend_connector(shop.gms.url)
    assert str(refused.value) == (
        f"`--frontend-url {shop.gms.url}` is not the address of DataHub's frontend: another server "
        "answers. Write the address at which this machine reaches it, as in "
        "`http://datahub-frontend-react:9002`"
    )
    with pytest.raises(SharedSignInError, match=r"nothing answers at http://127\.0\.0\.1:9/config"):
        frontend_connector("http://127.0.0.1:9")
