"""Test `hyperjoin serve`, run as people run it."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from browser.browsers import ADA, PEOPLE
from datahub_hyperjoin import service
from datahub_hyperjoin.cli import main
from datahub_hyperjoin.cli.connect import connector
from datahub_hyperjoin.graphql.errors import DeniedError
from datahub_hyperjoin.graphql.read import signed_in_user
from lakes.lake import describe_folder, write_flights
from lakes.shop import Shop, open_shop
from services.frontend import serve_frontend

OWNER = "token-of-the-machine"
KNOWN = {OWNER: "urn:li:corpuser:machine", **PEOPLE}


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop(KNOWN) as opened:
        monkeypatch.setenv("DATAHUB_GMS_URL", opened.gms.url)
        monkeypatch.setenv("DATAHUB_GMS_TOKEN", OWNER)
        opened.suggest("orders.customer", "customers.id", 0.93)
        yield opened


@contextmanager
def serving(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the command, and wait until its port answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "datahub_hyperjoin.cli", "serve", "--port", str(port), *options],
        env=dict(os.environ),
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
        yield f"http://127.0.0.1:{port}", server
    finally:
        server.terminate()
        server.wait(timeout=20)
        if server.stdout:
            server.stdout.close()


@pytest.mark.usefixtures("shop")
def test_a_person_signs_in_and_sees_the_joins() -> None:
    with serving() as (origin, server):
        with httpx2.Client(trust_env=False, headers={"Origin": origin}) as person:
            assert person.get(origin).status_code == 401
            answer = person.post(f"{origin}/sign-in", content=json.dumps({"token": ADA}))
            assert answer.status_code == 204
            page = person.get(origin)
            assert "Signed in as <b>ada</b>" in page.text
            assert "server" not in page.headers
        with socket.socket() as other:
            # A server that listened to all addresses would answer at this one, too.
            assert other.connect_ex(("127.0.0.2", int(origin.rpartition(":")[2]))) != 0
        server.terminate()
        output, _ = server.communicate(timeout=20)
    assert f"The joins are at {origin}\n" in output
    assert ADA not in output
    assert OWNER not in output


def test_a_recipe_counts_the_rows_of_what_people_suggest(shop: Shop, tmp_path: Path) -> None:
    write_flights(tmp_path / "lake")
    describe_folder(shop.gms, tmp_path / "lake")
    config = {"catalog": {"folder": str(tmp_path / "lake")}}
    rest = {"server": "${DATAHUB_GMS_URL}", "token": "${DATAHUB_GMS_TOKEN}"}
    sink = {"type": "datahub-rest", "config": rest}
    recipe = tmp_path / "recipe.yml"
    recipe.write_text(json.dumps({"source": {"type": "hyperjoin", "config": config}, "sink": sink}))
    with serving("-c", str(recipe)) as (origin, _):
        headers = {"Origin": origin}
        with httpx2.Client(trust_env=False, headers=headers, timeout=60) as person:
            person.post(f"{origin}/sign-in", content=json.dumps({"token": ADA}))
            csrf = person.get(f"{origin}/queue").text.partition('"csrf":"')[2].partition('"')[0]
            columns = {"one": "flights.carrier", "other": "airlines.carrier"}
            sent = {"content": json.dumps(columns), "headers": {"X-CSRF-Token": csrf}}
            told = person.post(f"{origin}/suggest", **sent).json()
    assert any("of the rows of flights.csv match" in fact for fact in told["facts"]), told


def test_nobody_acts_with_the_credentials_of_the_machine(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_SYSTEM_CLIENT_ID", "__datahub_system")
    monkeypatch.setenv("DATAHUB_SYSTEM_CLIENT_SECRET", "secret")
    connect_as = connector()
    shop.gms.requests.clear()
    with pytest.raises(DeniedError):
        signed_in_user(connect_as(""))
    assert {request.token for request in shop.gms.requests} == {"nobody"}
    assert signed_in_user(connect_as(ADA)) == PEOPLE[ADA]


def fail(*options: str) -> str:
    result = CliRunner().invoke(main, ["serve", *options])
    assert result.exit_code == 1
    return result.output


@pytest.mark.usefixtures("shop")
def test_a_service_that_takes_tokens_unencrypted_does_not_start() -> None:
    assert fail("--host", "0.0.0.0") == (  # noqa: S104 - it is refused
        "Error: people would send their tokens to `--host 0.0.0.0` unencrypted. Put a proxy with "
        "TLS in front of the service and name its address, as in `--url https://joins.example`, "
        "or remove `--host`\n"
    )


@pytest.mark.usefixtures("shop")
def test_an_address_that_is_none_is_refused() -> None:
    assert fail("--datahub-url", "localhost:9002") == (
        "Error: `--datahub-url localhost:9002` is no address of a web site. Write scheme, host and "
        "port only, as in `https://joins.example` or `http://localhost:9002`\n"
    )


@pytest.mark.usefixtures("shop")
def test_without_the_packages_the_error_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, f"{service.__name__}.app", raising=False)
    monkeypatch.delattr(service, "app", raising=False)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert fail() == (
        "Error: `hyperjoin serve` needs the packages `starlette` and `uvicorn`. Run `pip install "
        "'datahub-hyperjoin[serve]'`\n"
    )


def test_who_has_signed_in_to_datahub_needs_no_token(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The settings of the machine are not used at all.
    monkeypatch.setenv("DATAHUB_GMS_URL", "http://127.0.0.1:9")
    pages = "http://localhost:9002"
    with serve_frontend(shop.gms.url, PEOPLE) as frontend:
        options = ("--datahub-url", pages, "--frontend-url", frontend.url)
        with serving(*options) as (origin, server):
            cookies = {"Cookie": frontend.cookie(ADA)}
            with httpx2.Client(trust_env=False) as person:
                assert person.get(origin).status_code == 401
                assert "Signed in as <b>ada</b>" in person.get(origin, headers=cookies).text
            server.terminate()
            output, _ = server.communicate(timeout=20)
    assert f"The joins are at {origin.replace('127.0.0.1', 'localhost')}\n" in output
    assert ADA not in output


@pytest.mark.parametrize(("datahub_url", "message"), [
    ("", "`--frontend-url` needs `--datahub-url`, the address of DataHub's pages"),
    (
        "https://datahub.example",
        (
            "browsers send the cookies of https://datahub.example to no other host, and not to "
            "http://127.0.0.1:8766, http://localhost:8766, http://[::1]:8766. Give the service "
            "the scheme and host of DataHub's pages and another port or path, as in `--url "
            "https://datahub.example/joins`"
        ),
    ),
])  # fmt: skip
def test_a_service_that_browsers_keep_datahubs_cookies_from_does_not_start(
    datahub_url: str, message: str
) -> None:
    options = ["--datahub-url", datahub_url, "--frontend-url", "http://127.0.0.1:9"]
    assert fail(*options) == f"Error: {message}\n"
