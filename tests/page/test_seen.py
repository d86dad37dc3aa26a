"""Test in a browser that names on the page and in its exports are no commands."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlglot
import yaml

from browser import chromium
from browser.chromium import Tab
from browser.pages import EVIDENCE, UNFOLD, profiles, refers, write_found
from datahub_hyperjoin.export.names import needs_quotes
from datahub_hyperjoin.joins import Cardinality, Statement
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import visible_lines
from lakes.evil_names import EVIL

pytestmark = pytest.mark.skipif(not chromium.PATH, reason="needs Chromium")

KEY = ColumnId(TableId("postgres", "shop.public.victims"), "id")
ENDS = [ColumnId(TableId("postgres", "shop.public.orders"), name) for name in EVIL]
TO_ONE = replace(EVIDENCE, cardinality=Cardinality.MANY_ONE, left_containment=1.0, left_fan_out=1.0)
STATEMENT = Statement(sql='SELECT "\u202e"\nFROM victims', dialect="postgres", rows=5)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("seen")
    joins = [replace(refers(end, KEY), evidence=TO_ONE) for end in ENDS]
    write_found(
        folder / "joins.html",
        profiles=profiles(KEY, *ENDS),
        keys=[KEY, *ENDS],
        suggestions=(),
        joins=joins,
        statements={join.pairs: STATEMENT for join in joins},
    )
    with chromium.browse(folder) as tab:
        tab.open(folder.joinpath("joins.html").as_uri())
        tab.wait("document.readyState === 'complete' && document.querySelector('.card') !== null")
        for _ in range(len(EVIL)):  # the list is shown in parts
            tab.run("[...document.querySelectorAll('button.more')].forEach((one) => one.click())")
        tab.run(UNFOLD)
        yield tab


def texts(tab: Tab, of: str) -> list[str]:
    return list(tab.run(f"[...document.querySelectorAll('.card *')].flatMap((one) => {of})"))


def test_all_names_are_visible_and_none_is_html(tab: Tab) -> None:
    shown = texts(tab, "one.children.length ? [] : [one.textContent]")
    assert {visible_lines(text) for text in shown} == {*shown}
    assert "<script>alert(1)</script></script><img src=x onerror=alert(1)>" in shown
    assert {each for each in EVIL if each.isprintable()} <= {*shown}
    spoken = texts(tab, "[one.title, one.getAttribute('aria-label') || '']")
    assert {visible_lines(text) for text in spoken} == {*spoken}
    assert tab.run("document.querySelectorAll('.card img, .card script').length") == 0
    assert tab.log == []


def test_the_clipboard_gets_the_exact_statement(tab: Tab) -> None:
    copied = tab.run(
        "(() => { let copied = '';"
        "Object.defineProperty(navigator, 'clipboard', { configurable: true,"
        " value: { writeText: async (text) => { copied = text; } } });"
        "document.querySelector('[aria-label^=\"Copy the SQL\"]').click(); return copied; })()"
    )
    assert copied == STATEMENT.sql
    assert r"\u202e" in texts(tab, "one.tagName === 'CODE' ? [one.textContent] : []")[0]


def exported(tab: Tab, name: str) -> str:
    tab.run(
        "URL.createObjectURL = (blob) => {"
        "  blob.text().then((text) => { globalThis.saved = text; }); return '#'; };"
        f"globalThis.saved = ''; document.querySelector('[data-export={name}]').click(); 0"
    )
    return str(tab.wait("globalThis.saved"))


def test_exported_sql_holds_only_the_statements(tab: Tab) -> None:
    text = exported(tab, "sql")
    found = sqlglot.parse(text, dialect="postgres")
    assert [type(each).__name__ for each in found] == ["Select"] * len(EVIL)


def test_exported_dbt_tests_quote_and_leave_out(tab: Tab) -> None:
    [model] = yaml.safe_load(exported(tab, "dbt"))["models"]
    held = {column["name"]: column for column in model["columns"]}
    assert {*EVIL} - {*held} == {
        name for name in EVIL if '"' in name or re.search(r"\{[{%#]", name)
    }
    assert all(column.get("quote") for name, column in held.items() if needs_quotes(name))


def test_an_exported_diagram_has_a_line_for_each_join(tab: Tab) -> None:
    first, *lines = exported(tab, "mermaid").strip().split("\n")
    assert first == "erDiagram"
    assert len(lines) == len(EVIL)
    assert all(re.fullmatch(r'    \w+ \}o--\|\| \w+ : "[^"]*"', line) for line in lines)
    assert json.dumps([visible_lines(line) for line in lines]) == json.dumps(lines)
