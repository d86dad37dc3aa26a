"""Test the command `hyperjoin mcp` as agents' clients run it."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from datahub_hyperjoin import agents
from datahub_hyperjoin.cli import main
from lakes.shop import Shop, open_shop

DATAHUB_TOKEN = "eyJhbGciOi.of-datahub"  # noqa: S105 - nobody's
TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - nobody's
COMMAND = ("-m", "datahub_hyperjoin.cli", "mcp")
USAGE = "Usage: main mcp [OPTIONS]\nTry 'main mcp --help' for help.\n\n"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop() as opened:
        monkeypatch.setenv("DATAHUB_GMS_URL", opened.gms.url)
        monkeypatch.setenv("DATAHUB_GMS_TOKEN", DATAHUB_TOKEN)
        opened.suggest("orders.customer", "customers.id", 0.93)
        yield opened


async def ask(client: Client) -> tuple[list[str], dict[str, Any]]:
    """List the tools, and ask for a path from orders to customers."""
    async with client:
        tools = (await client.list_tools()).tools
        asked = {"start": "orders", "end": "customers"}
        (content,) = (await client.call_tool("find_join_path", asked)).content
    assert isinstance(content, TextContent)
    return [tool.name for tool in tools], json.loads(content.text)


@pytest.mark.usefixtures("shop")
def test_an_agent_starts_the_command_and_asks_over_its_pipes() -> None:
    environment = {name: value for name, value in os.environ.items() if "HYPERJOIN" not in name}
    server = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, "--read-only"], env=environment
    )
    tools, answer = asyncio.run(ask(Client(server)))
    assert "suggest_joins" in tools
    assert "accept_join" not in tools
    assert (answer["answer"], answer["datasets"]) == (
        "safe path",
        ["orders", "customers"],
    )
    assert DATAHUB_TOKEN not in json.dumps(answer)


@contextmanager
def serving(*options: str, **environment: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start the command, and wait until its port answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, *COMMAND, "--http", "--port", str(port), *options],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if server.poll() is not None or probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port, server
    finally:
        server.terminate()
        server.wait(timeout=20)
        if server.stdout:
            server.stdout.close()


async def ask_over_http(port: int, token: str) -> tuple[list[str], dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
        url = f"http://127.0.0.1:{port}/mcp"
        return await ask(Client(streamable_http_client(url, http_client=http)))


@pytest.mark.usefixtures("shop")
def test_agents_ask_over_http_with_a_token() -> None:
    with serving(HYPERJOIN_MCP_TOKEN=TOKEN) as (port, server):
        tools, answer = asyncio.run(ask_over_http(port, TOKEN))
        assert "accept_join" in tools
        assert answer["answer"] == "safe path"
        url = f"http://127.0.0.1:{port}/mcp"
        assert httpx2.post(url, json={}, trust_env=False).status_code == 401
        assert "server" not in httpx2.get(url, trust_env=False).headers
        with socket.socket() as other:
            # A server that listened to all addresses would answer at this one, too.
            assert other.connect_ex(("127.0.0.2", port)) != 0
        server.terminate()
        output, _ = server.communicate(timeout=20)
    assert f"http://127.0.0.1:{port}/mcp" in output
    assert TOKEN not in output
    assert DATAHUB_TOKEN not in output


def fail(*options: str) -> str:
    result = CliRunner().invoke(main, ["mcp", *options])
    assert result.exit_code == 1
    return result.output


@pytest.mark.usefixtures("shop")
def test_a_server_that_strangers_could_use_is_refused() -> None:
    assert fail("--http", "--read-only", "--host", "0.0.0.0") == (  # noqa: S104 - it is refused
        "Error: other machines can reach `--host 0.0.0.0`, and no token keeps them out. Set "
        "HYPERJOIN_MCP_TOKEN in the environment, or remove `--host`\n"
    )


@pytest.mark.usefixtures("shop")
def test_nobody_else_on_this_machine_decides_in_the_user_s_name() -> None:
    assert fail("--http") == (
        "Error: without a token, every user of this machine could accept and reject joins in your "
        "name. Add `--read-only`, or set HYPERJOIN_MCP_TOKEN in the environment\n"
    )


@pytest.mark.usefixtures("shop")
def test_options_of_http_need_http() -> None:
    for option in (("--host", "localhost"), ("--port", "80"), ("--allow-host", "a.example")):
        result = CliRunner().invoke(main, ["mcp", *option])
        assert result.exit_code == 2
        assert result.output == f"{USAGE}Error: {option[0]} needs --http.\n"


@pytest.mark.usefixtures("shop")
def test_without_the_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [*sys.modules]:
        if name.split(".")[0] in {"mcp", "mcp_types"} or name.startswith(f"{agents.__name__}.s"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(agents, "server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert fail() == (
        "Error: `hyperjoin mcp` needs the package `mcp`. Run `pip install "
        "'datahub-hyperjoin[mcp]'`\n"
    )
