"""Test in a browser that people review joins by keys alone, and that their decisions stay."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import chromium
from browser.chromium import Tab
from browser.pages import column, profiles, refers, undeclared, write_found

pytestmark = pytest.mark.skipif(not chromium.PATH, reason="needs Chromium")

JOINS = 100
FOCUS = "document.activeElement.closest('.join')?.querySelector('.line').dataset.join ?? ''"
SUMMARY = "document.getElementById('summary').textContent"
_CODES = {"Enter": 13, "Tab": 9}


def press(tab: Tab, key: str) -> str:
    """Press a key as a person does, and return the number of the join that then has the focus."""
    code = _CODES.get(key, ord(key[0].upper()))
    text = {"text": "\r" if key == "Enter" else key} if key != "Tab" else {}
    for kind in ("keyDown", "keyUp"):
        named = {"key": key, "windowsVirtualKeyCode": code, **(text if kind == "keyDown" else {})}
        tab.send("Input.dispatchKeyEvent", type=kind, **named)
    return str(tab.run(FOCUS))


def reload(tab: Tab, page: Path) -> None:
    tab.open("about:blank")
    tab.open(page.as_uri())
    tab.wait("document.readyState === 'complete' && document.querySelector('.card') !== null")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Write a page of tables of which each joins with a hub twice: 50 rows of two joins."""
    path, hub = tmp_path / "joins.html", [column("lake/hub.id"), column("lake/hub.name")]
    sides = [column(f"lake/t{at:02}.{end}") for at in range(JOINS // 2) for end in ("hub", "name")]
    joins = [
        undeclared(end, hub[1]) if at % 2 else refers(end, hub[0], 0.99 - at / 1000)
        for at, end in enumerate(sides)
    ]
    columns = sorted([*hub, *sides])
    write_found(path, profiles=profiles(*columns), keys=columns, suggestions=(), joins=joins)
    return path


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium.browse(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


def test_a_hundred_joins_are_reviewed_by_keys_alone(tab: Tab, page: Path) -> None:
    reload(tab, page)
    while tab.run("document.activeElement.id") != "review":
        press(tab, "Tab")
    focused = press(tab, "Enter")
    decided: dict[str, str] = {}
    while focused not in decided:
        key = "r" if len(decided) % 3 == 2 else "a"
        before, focused = focused, press(tab, key)
        decided[before] = key
        if len(decided) in (10, 50):  # a mistake: back to the join, and the other way round
            assert press(tab, "u") == before
            assert tab.run(SUMMARY).count(" 0 ") == 0
            decided[before] = "r" if key == "a" else "a"
            focused = press(tab, decided[before])
    counts = Counter(decided.values())
    assert len(decided) == JOINS
    counted = f"{counts['a']} accepted and {counts['r']} rejected"
    assert tab.run(SUMMARY) == counted
    pending = f"{JOINS} changes are in this browser only."
    assert tab.run("document.getElementById('pending').textContent") == pending
    reload(tab, page)
    assert tab.run(SUMMARY) == counted
    shown = "Object.fromEntries([...document.querySelectorAll('.line')].map((line) => ["
    shown += "line.dataset.join, verdictOfJoin(line.dataset.join)[0]]))"
    assert tab.run(shown).items() <= decided.items()


def test_keys_move_between_joins_and_open_the_evidence(tab: Tab, page: Path) -> None:
    reload(tab, page)
    tab.run("document.querySelector('.line').focus()")
    first = tab.run(FOCUS)
    second = press(tab, "j")
    assert second != first
    assert press(tab, "k") == first
    assert press(tab, "k") == first  # there is none before it
    press(tab, "Enter")
    assert tab.run("document.querySelector('.evidence .sentence') !== null")
    # In the search field, letters are letters.
    tab.run("document.getElementById('search').focus()")
    assert press(tab, "a") == ""
    assert tab.run("document.getElementById('search').value") == "a"
    assert tab.run(SUMMARY) == "0 accepted and 0 rejected"
