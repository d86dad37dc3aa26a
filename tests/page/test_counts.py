"""Test that the page and `hyperjoin find` count the same joins."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from browser import chromium
from datahub_hyperjoin.cli import main


def write_menus(lake: Path) -> None:
    """Write sales with codes of beers, a menu with their names, and a table with both."""
    lake.mkdir()
    names = [f"Beer number {at} of the house" for at in range(40)]
    articles = "".join(f"A{at:03},{name}\n" for at, name in enumerate(names))
    (lake / "articles.csv").write_text("article,label\n" + articles)
    sales = "".join(f"{at + 1000},A{at % 40:03}\n" for at in range(200))
    (lake / "sales.csv").write_text("sale,article\n" + sales)
    menu = "".join(f"{at * 7 + 3},{name}\n" for at, name in enumerate(names))
    (lake / "menu.csv").write_text("page,beer\n" + menu)


@pytest.mark.skipif(chromium.PATH is None, reason="needs Chromium")
def test_joins_that_only_a_crosswalk_connects_are_counted_apart(tmp_path: Path) -> None:
    write_menus(tmp_path / "lake")
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["find", str(tmp_path / "lake"), "--out", str(out)])
    assert result.stdout.startswith("2 joins found")
    assert "1 pair of columns joins in two steps" in result.stdout
    assert "(1 besides the joins above)" in result.stdout
    assert len(json.loads((out / "joins.json").read_text())) == 2
    page = out / "joins.html"
    head = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.read_text(encoding="utf-8")))
    assert (head["joins"], head["further joins in two steps"]) == ("2", "1")
    with chromium.browse(tmp_path / "browser") as tab:
        tab.open(page.as_uri())
        shown = tab.wait("document.getElementById('status')?.textContent")
        assert shown == "3 tables, 2 joins, 1 further in two steps"
