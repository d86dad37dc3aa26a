"""Test that the page shows decisions, takes new ones and saves them in a file for the next run."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from browser import chromium
from browser.chromium import Tab
from browser.pages import (
    FLIGHTS,
    PLANES,
    TEAMS,
    UNFOLD,
    column,
    join,
    profiles,
    write,
    write_found,
)
from datahub_hyperjoin.decision_file import FiledDecision, WrittenDecision, read_decision_file
from datahub_hyperjoin.joins import Derivation, Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.page.write import list_decisions
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.written_decisions import decisions

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
PARKS = column("lahman/Parks.key")
GAMES = column("lahman/HomeGames.park")


def filed(left: ColumnId, right: ColumnId, verdict: Verdict, **rest: str) -> FiledDecision:
    return FiledDecision(
        written=WrittenDecision(
            left_table=left.table.name,
            left_columns=(left.path,),
            right_table=right.table.name,
            right_columns=(right.path,),
            verdict=verdict,
            **rest,
        ),
        left=left.table,
        right=right.table,
    )


GONE = FiledDecision(
    written=WrittenDecision(
        left_table="gone.csv",
        left_columns=("org", "a, b"),
        right_table="lahman/Teams.csv",
        right_columns=("org", 'say "b"'),
        verdict=Verdict.REJECTED,
        by="Ann",
        reason="no more",
    )
)


def decided_in(page: str) -> Any:  # noqa: ANN401 - JSON
    data = re.search(r'<script type="application/json" id="decided">(.*?)</script>', page)
    assert data
    return json.loads(data[1])


def write_decided(
    path: Path, *decided: FiledDecision, file: str = "decisions.csv", damaged: Sequence[str] = ()
) -> str:
    columns = sorted([FLIGHTS, PLANES, TEAMS, PARKS, GAMES])
    write_found(
        path,
        profiles=profiles(*columns),
        keys=columns,
        suggestions=(),
        joins=[join(FLIGHTS, PLANES), join(GAMES, PARKS)],
        filed=decided,
        file=file,
        damaged=damaged,
    )
    return path.read_text(encoding="utf-8")


def test_the_page_keeps_all_decisions_of_the_file(tmp_path: Path) -> None:
    page = write_decided(tmp_path / "page.html", filed(FLIGHTS, PLANES, Verdict.ACCEPTED), GONE)
    decided = decided_in(page)
    flights, planes = (f"nycflights13/{name}.csv" for name in ("flights", "planes"))
    assert decided["rows"] == [
        [flights, ["tailnum"], planes, ["tailnum"], "accepted", "", "", "", flights, planes],
        [
            *("gone.csv", ["org", "a, b"], "lahman/Teams.csv", ["org", 'say "b"'], "rejected"),
            *("Ann", "no more", "", "gone.csv", "lahman/Teams.csv"),
        ],
    ]
    assert (decided["file"], decided["urns"]) == ("decisions.csv", {})
    assert "Download decisions.csv" in page


def test_tables_of_one_name_are_written_as_urns() -> None:
    tables = [TableId(platform, "orders") for platform in ("mysql", "postgres")]
    (one, other) = (ColumnId(table, "id") for table in tables)
    decisions = list_decisions([filed(one, other, Verdict.ACCEPTED)], tables, "d.json")
    assert decisions.urns == dict(enumerate(map(dataset_urn, tables)))
    assert decisions.rows[0][-2:] == tuple(map(dataset_urn, tables))
    assert decisions.rows[0][0] == "orders"


def test_a_page_without_joins_and_decisions_asks_for_none(tmp_path: Path) -> None:
    page = write(tmp_path / "page.html", [FLIGHTS, TEAMS])
    assert 'id="decided"' not in page
    assert "decisions-title" not in page


DRIVER = """<script>
addEventListener("load", () => {
  const files = [], seen = {};
  URL.createObjectURL = (blob) => { files.push(blob); return "#"; };
  const all = () => [...document.querySelectorAll(".decision")];
  const groups = (name) => all().filter((group) => group.dataset.key.includes(name));
  const press = (name, position) => groups(name)[0].children[position].click();
  const pressed = (button) => (button.getAttribute("aria-pressed") === "true" ? "!" : "");
  const buttons = (group) => [...group.children].filter((button) => !button.hidden)
    .map((button) => button.textContent + pressed(button)).join(" ");
  const states = (name) => [...new Set(groups(name).map(buttons))];
  const text = (id) => document.getElementById(id).textContent;
  const look = (name) => {
    seen[name] = {
      flights: states("flights"), parks: states("Parks"), summary: text("summary"),
      pending: text("pending"), said: text("said"), bar: !document.getElementById("bar").hidden,
    };
  };
  const end = () => {
    document.body.textContent = `SEEN${encodeURIComponent(JSON.stringify(seen))}SEEN`;
  };
  STEPS
});
</script></body>"""
"""A script that presses buttons as a person does, and stores in the page what it saw."""


def browse(page: str, path: Path, steps: str, stored: str = "{}") -> dict[str, Any]:
    """Open a page with `stored` decisions, run the script `steps`, and return what it recorded."""
    assert CHROMIUM
    keep = f"localStorage.setItem(`hyperjoin decisions ${{location.pathname}}`, {stored!r});"
    driven = page.replace("<body>", f"<body><script>{keep}</script>")
    path.write_text(driven.replace("</body>", DRIVER.replace("STEPS", steps)), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000"]
    done = subprocess.run(
        [CHROMIUM, *options, f"--user-data-dir={path}.profile", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = re.search("SEEN(.*?)SEEN", done.stdout)
    assert found, done.stdout[-2000:]
    seen: dict[str, Any] = json.loads(unquote(found[1]))
    return seen


UNDECIDED, ACCEPTED, REJECTED = (
    ["Accept Reject"],
    ["Accepted! Reject Undo"],
    ["Accept Rejected! Undo"],
)
JOIN_OF_PARKS = "lahman/HomeGames.csv.park = lahman/Parks.csv.key"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Decide, undo and download in a browser, and return what the page showed meanwhile."""
    folder = tmp_path_factory.mktemp("decided")
    accepted = filed(FLIGHTS, PLANES, Verdict.ACCEPTED, by="Bo", reason="one, two")
    page = write_decided(folder / "page.html", accepted, GONE)
    return browse(
        page,
        folder / "driven.html",
        """
        look("first");
        press("Parks", 1);
        look("rejected");
        press("flights", 2);
        look("undone");
        seen.focus = document.activeElement.getAttribute("aria-label");
        [...document.querySelectorAll("#decided-list button")].at(-1).click();
        look("listed");
        press("Parks", 0);
        document.querySelector("[data-download]").click();
        look("downloaded");
        files[0].text().then((content) => { seen.file = content; end(); });
        """,
    )


@needs_browser
def test_people_decide_and_undo_in_a_browser(seen: dict[str, Any]) -> None:
    # Both cards of a join show its decision.
    assert seen["first"] == {
        "flights": ACCEPTED,
        "parks": UNDECIDED,
        "summary": "1 accepted and 1 rejected",
        "pending": "",
        "said": "",
        "bar": False,
    }
    assert seen["rejected"] == {
        "flights": ACCEPTED,
        "parks": REJECTED,
        "summary": "1 accepted and 2 rejected",
        "pending": "1 change is in this browser only.",
        "said": f"Rejected: {JOIN_OF_PARKS}. 1 change is in this browser only.",
        "bar": True,
    }
    assert seen["undone"]["flights"] == UNDECIDED
    assert seen["undone"]["said"].startswith(
        "Undone: nycflights13/flights.csv.tailnum = nycflights13/planes.csv.tailnum, which was "
        "accepted by Bo: one, two. "
    )
    assert seen["undone"]["pending"] == "2 changes are in this browser only."
    # The button that was pressed is gone, so the keyboard stays beside it.
    assert seen["focus"] == (
        "Accept nycflights13/flights.csv.tailnum = nycflights13/planes.csv.tailnum"
    )
    assert seen["listed"]["parks"] == UNDECIDED


@needs_browser
def test_people_download_what_the_next_run_reads(seen: dict[str, Any], tmp_path: Path) -> None:
    assert seen["downloaded"]["parks"] == ACCEPTED
    assert seen["downloaded"]["bar"] is False
    assert seen["downloaded"]["said"] == (
        "Downloaded decisions.csv. Save it where the next run reads it."
    )
    file = tmp_path / "decisions.csv"
    file.write_text(seen["file"], encoding="utf-8")
    gone, parks = read_decision_file(file)
    assert gone == replace(GONE.written, place="line 2")
    assert (str(parks), parks.verdict) == (JOIN_OF_PARKS, Verdict.ACCEPTED)


@needs_browser
def test_a_later_page_knows_which_changes_the_run_has_read(tmp_path: Path) -> None:
    """Use a JSON file of decisions, so that the page downloads JSON."""
    page = write_decided(
        tmp_path / "page.html", filed(PARKS, GAMES, Verdict.ACCEPTED), file="decisions.json"
    )
    key = '["lahman/HomeGames.csv","lahman/Parks.csv",[["park","key"]]]'
    flights = '["nycflights13/flights.csv","nycflights13/planes.csv",[["tailnum","tailnum"]]]'
    kept = {key: "accepted", flights: "rejected"}
    seen = browse(
        page,
        tmp_path / "driven.html",
        """
        look("first");
        document.querySelector("[data-download]").click();
        files[0].text().then((content) => { seen.file = content; end(); });
        """,
        stored=json.dumps({"base": "[]", "changes": kept, "last": kept}),
    )
    assert seen["first"]["parks"] == ACCEPTED
    assert seen["first"]["flights"] == REJECTED
    assert seen["first"]["pending"] == "1 change is in this browser only."
    file = tmp_path / "decisions.json"
    file.write_text(seen["file"], encoding="utf-8")
    assert [(str(each), each.verdict.value) for each in read_decision_file(file)] == [
        ("lahman/Parks.csv.key = lahman/HomeGames.csv.park", "accepted"),
        (
            "nycflights13/flights.csv.tailnum = nycflights13/planes.csv.tailnum",
            "rejected",
        ),
    ]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium.browse(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


def download(browser: Tab, page: Path, file: Path) -> None:
    """Open a page, and save the file of decisions that it downloads."""
    browser.open(page.as_uri())
    shown = f"location.href === {page.as_uri()!r}"
    browser.wait(f"{shown} && document.querySelector('[data-download]') !== null")
    browser.run(
        "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); "
        "return '#'; }; document.querySelector('[data-download]').click(); 0"
    )
    browser.wait("window.saved !== undefined")
    file.write_bytes(browser.run("window.saved").encode())


HEALTHY = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)


@pytest.mark.skipif(not chromium.PATH, reason="needs Chromium")
@pytest.mark.parametrize("name", ["decisions.csv", "decisions.json"])
@settings(deadline=None, max_examples=4, suppress_health_check=HEALTHY)
@given(written=st.lists(decisions(), min_size=10, max_size=20, unique_by=str))
def test_the_page_downloads_any_decision_as_it_was_made(
    tmp_path: Path, browser: Tab, name: str, written: list[WrittenDecision]
) -> None:
    page, file = tmp_path / "page.html", tmp_path / name
    damaged = ['{"left_table": "é"}'] if name.endswith(".json") else ['a,x,"b,y,accepted,,']
    listed = [FiledDecision(written=each) for each in written]
    write_decided(page, *listed, file=name, damaged=damaged)
    download(browser, page, file)
    warnings: list[str] = []
    read = read_decision_file(file, lambda title, *_: warnings.append(title))
    assert len(warnings) == 1
    assert [replace(each, place="") for each in read] == written


@needs_browser
def test_a_join_that_follows_is_decided_about(browser: Tab, tmp_path: Path) -> None:
    page, columns = tmp_path / "joins.html", sorted([FLIGHTS, PLANES, PARKS, GAMES])
    write_found(
        page,
        profiles=profiles(*columns),
        keys=columns,
        suggestions=(),
        joins=[join(FLIGHTS, PLANES)],
        derived={Derivation.DATES: (join(GAMES, PARKS),)},
    )
    browser.open("about:blank")
    browser.open(page.as_uri())
    browser.wait("!!document.querySelector('.card')")
    browser.run(UNFOLD)
    rest = "document.querySelector('.rest .columns .decision')"
    browser.run(f"{rest}.children[0].focus()")
    browser.send("Input.dispatchKeyEvent", type="keyDown", key="r", text="r")  # of no other join
    browser.run(f"{rest}.children[0].click()")
    assert browser.run("document.getElementById('summary').textContent") == (
        "1 accepted and 0 rejected"
    )
    shown = "document.getElementById('decided-list').innerText"
    assert browser.run(f"document.querySelector('#decisions-title').click(), {shown}") == (
        "Accepted lahman/HomeGames.csv.park = lahman/Parks.csv.key Undo"
    )
