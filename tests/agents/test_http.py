"""Test that the HTTP server answers only authorised clients."""

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from datahub_hyperjoin.agents.errors import UnguardedServerError
from datahub_hyperjoin.agents.server import create_app, create_server
from datahub_hyperjoin.agents.tools import JoinTools
from lakes.shop import Shop, open_shop

TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - nobody's
ANY = "0.0.0.0"  # noqa: S104 - all addresses of a machine
ASKED = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "joins_of_dataset", "arguments": {"dataset": "orders"}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    with open_shop() as opened:
        yield opened


def client(
    shop: Shop, host: str = "127.0.0.1", token: str = "", names: tuple[str, ...] = ()
) -> TestClient:
    server = create_server(JoinTools(shop.graph), read_only=True)
    app = create_app(server, host=host, names=names, token=token)
    return TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False)


def ask(client: TestClient, **headers: str) -> int:
    with client:
        status: int = client.post("/mcp", json=ASKED, headers=HEADERS | headers).status_code
    return status


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "localhost"])
def test_this_machine_may_ask_without_a_token(shop: Shop, host: str) -> None:
    assert ask(client(shop), Host=host) == 200


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example:8765"},
    {"Host": "127.0.0.1.evil.example"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
])  # fmt: skip
def test_a_web_page_that_points_here_is_refused(shop: Shop, headers: dict[str, str]) -> None:
    assert ask(client(shop), **headers) in {403, 421}
    # Tokens do not replace this check.
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(client(shop, token=TOKEN), **headers, **bearer) in {403, 421}


@pytest.mark.parametrize("sent", [
    {},
    {"Authorization": "Bearer "},
    {"Authorization": TOKEN},
    {"Authorization": f"Bearer {TOKEN}x"},
    {"Authorization": f"Bearer {TOKEN[:-1]}"},
    {"Authorization": f"Basic {TOKEN}"},
    {"Authorization": "Bearer \xe9"},
])  # fmt: skip
def test_a_client_without_the_token_gets_no_answer(shop: Shop, sent: dict[str, str]) -> None:
    shop.gms.requests.clear()
    headers = [(name.encode(), value.encode("latin-1")) for name, value in (HEADERS | sent).items()]
    with client(shop, token=TOKEN) as opened:
        answer = opened.post("/mcp", json=ASKED, headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert opened.get("/", headers=headers).status_code == 401
    assert shop.gms.requests == []


@pytest.mark.parametrize(("host", "names", "asked", "status"), [
    ("127.0.0.1", (), "127.0.0.1:8765", 200),
    (ANY, ("joins.example",), "joins.example", 200),
    (ANY, ("joins.example",), f"{ANY}:8765", 421),
    ("10.0.0.7", (), "10.0.0.7:8765", 200),
    ("fd00::7", (), "[fd00::7]:8765", 200),
    ("joins.example", (), "joins.example:8765", 200),
])  # fmt: skip
def test_a_client_with_the_token_gets_an_answer_under_the_server_s_name(
    shop: Shop, host: str, names: tuple[str, ...], asked: str, status: int
) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(client(shop, host, TOKEN, names), Host=asked, **bearer) == status


def test_a_request_has_a_greatest_size(shop: Shop) -> None:
    with client(shop) as opened:
        assert opened.post("/mcp", content=b"x" * 70_000, headers=HEADERS).status_code == 413


REFUSALS = {
    "other machines can reach `--host 0.0.0.0`, and no token keeps them out. Set "
    "HYPERJOIN_MCP_TOKEN in the environment, or remove `--host`": (ANY, "", ("a.example",)),
    "other machines can reach `--host joins.example`, and no": ("joins.example", "", ()),
    "other machines can reach `--host ::`, and no": ("::", "", ("a.example",)),
    "`--host 0.0.0.0` is no name that clients use. Add `--allow-host` with the name or address "
    "under which they reach the server": (ANY, TOKEN, ()),
    "the token in HYPERJOIN_MCP_TOKEN can be guessed. Use at least 32 characters without spaces, "
    "such as those of `openssl rand -hex 32`": ("127.0.0.1", TOKEN[1:], ()),
    "the token in HYPERJOIN_MCP_TOKEN can": ("127.0.0.1", f"{TOKEN} {TOKEN}", ()),
}


@pytest.mark.parametrize("expected", REFUSALS)
def test_a_server_that_strangers_could_use_does_not_start(shop: Shop, expected: str) -> None:
    host, token, names = REFUSALS[expected]
    with pytest.raises(UnguardedServerError, match=f"^{re.escape(expected)}") as raised:
        client(shop, host, token, names)
    assert not token or token not in str(raised.value)
