"""Test in a browser that people can search, filter, link to, focus on and export joins."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from browser import chromium
from browser.chromium import Tab
from browser.pages import (
    EVIDENCE,
    UNFOLD,
    column,
    lake,
    profiles,
    refers,
    undeclared,
    write_found,
)
from datahub_hyperjoin.decision_file import FiledDecision, WrittenDecision
from datahub_hyperjoin.joins import (
    Cardinality,
    Derivation,
    Join,
    Role,
    RowCounts,
    Statement,
    Verdict,
)
from datahub_hyperjoin.joins.describe import FOLLOWING, MORE_TABLES
from datahub_hyperjoin.model.ranking.pair_scoring import Contributions

pytestmark = pytest.mark.skipif(not chromium.PATH, reason="needs Chromium")

ORDER, CUSTOMER = column("shop/orders.customer_id"), column("shop/customers.id")
STORE, PREORDER = column("shop/stores.owner"), column("old/preorders.customer")
COUNTRIES = [column(f"geo/{name}.country") for name in ("airports", "harbours", "roads")]
TO_ONE = replace(
    EVIDENCE,
    cardinality=Cardinality.MANY_ONE,
    left_containment=0.98,
    left_fan_out=0.97,
    right_fan_out=12.3,
    left_counts=RowCounts(total=1200, filled=1124, matched=1090),
    right_counts=RowCounts(total=100, filled=100, matched=90),
)
FROM_ONE = TO_ONE.reversed
SQL = """\
SELECT a.*, b.* FROM "orders" AS a JOIN "customers" AS b ON a."customer_id" = b."id" LIMIT 100"""


def _joins() -> list[Join]:
    plain = [undeclared(one, other) for one, other in combinations(sorted(COUNTRIES), 2)]
    # The identifiers of a pair are sorted, so customers come first.
    order = replace(refers(ORDER, CUSTOMER), evidence=FROM_ONE)
    old = replace(refers(PREORDER, CUSTOMER, 0.6), evidence=TO_ONE)
    twin = replace(
        undeclared(STORE, CUSTOMER),
        role=Role.ONE_TO_ONE,
        joinability=0.75,
        evidence=replace(
            TO_ONE,
            cardinality=Cardinality.ONE_ONE,
            right_fan_out=0.2,
            left_counts=None,
            right_counts=None,
        ),
    )
    return [order, old, twin, *plain]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("view") / "joins.html"
    joins = _joins()
    columns = sorted({end for join in joins for end in (join.left, join.right)})
    rejected = WrittenDecision(
        left_table="shop/stores.csv",
        left_columns=("owner",),
        right_table="shop/customers.csv",
        right_columns=("id",),
        verdict=Verdict.REJECTED,
    )
    write_found(
        path,
        profiles=profiles(*columns),
        keys=columns,
        suggestions=(),
        joins=joins,
        contributions={
            joins[0].pairs[0]: Contributions(
                together=0.82, alone={"containment": 0.7, "cosine": 0.0, "names": 0.25}
            )
        },
        statements={joins[0].pairs: Statement(sql=SQL, dialect="duckdb", rows=5)},
        filed=[FiledDecision(written=rejected, left=STORE.table, right=CUSTOMER.table)],
    )
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium.browse(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.fixture
def tab(browser: Tab, page: Path) -> Tab:
    return opened(browser, page)


def opened(browser: Tab, page: Path, address: str = "") -> Tab:
    browser.log.clear()
    browser.open("about:blank")
    browser.open(f"{page.as_uri()}{address}")
    browser.wait("document.readyState === 'complete' && document.querySelector('.card') !== null")
    return browser


def cards(tab: Tab) -> list[str]:
    titles = "[...document.querySelectorAll('.card h3')].map((title) => title.textContent)"
    return list(tab.run(titles))


def search(tab: Tab, text: str) -> None:
    tab.run(
        f"document.getElementById('search').value = {json.dumps(text)};"
        "document.getElementById('search').dispatchEvent(new Event('input')); 0"
    )
    tab.wait(f"location.hash.includes('q={text.replace(' ', '+')}')")


def choose(tab: Tab, name: str, value: str) -> None:
    tab.run(
        f"document.forms.filters.{name}.value = {json.dumps(value)};"
        f"document.forms.filters.{name}.dispatchEvent(new Event('change', {{ bubbles: true }})); 0"
    )


def open_menus(tab: Tab) -> list[str]:
    shown = "[...document.querySelectorAll('.menu[open] > summary')].map((each) => each.innerText)"
    return [str(text).split()[0] for text in tab.run(shown)]


def test_a_menu_closes_by_escape_and_by_a_press_elsewhere(tab: Tab) -> None:
    for menu in (0, 1):
        tab.run(f"document.querySelectorAll('.menu > summary')[{menu}].click(); 0")
        assert open_menus(tab) == [("Filters", "Export")[menu]]
        tab.run(
            "document.forms.filters.dispatchEvent(new PointerEvent('pointerdown', "
            "{ bubbles: true })); 0"
        )
        assert open_menus(tab) == (["Filters"], [])[menu]  # the press was in the first menu
        tab.run("dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' })); 0")
        assert open_menus(tab) == []
    assert tab.log == []


def test_the_sides_of_a_join_have_different_names(browser: Tab, tmp_path: Path) -> None:
    joins = [
        undeclared(column("east/roads.land"), column("west/roads.land")),
        undeclared(column("hr/staff.boss"), column("hr/staff.id")),
        undeclared(column("hr/staff.town"), column("geo/towns.name")),
    ]
    columns = sorted({end for join in joins for end in (join.left, join.right)})
    path = tmp_path / "joins.html"
    write_found(path, profiles=profiles(*columns), keys=columns, suggestions=(), joins=joins)
    tab = opened(browser, path)
    tab.run(UNFOLD)
    sides = tab.run(
        "[...document.querySelectorAll('.overlap')].map((one) => "
        "[...one.querySelectorAll('.of')].map((side) => side.textContent).sort().join(', '))"
    )
    assert {*sides} == {
        "values of east/roads, values of west/roads",
        "values of boss, values of id",
        "values of staff, values of towns",
    }


def drawn(tab: Tab, kind: str = ".box") -> list[str]:
    """Return the names of the boxes or tiles of the picture."""
    names = f"[...document.querySelectorAll('#canvas {kind} > :first-child > b')]"
    return sorted(tab.run(f"{names}.map((name) => name.textContent)"))


def test_tables_of_one_name_are_told_apart_by_their_folders(browser: Tab, tmp_path: Path) -> None:
    tables = ["roads", "a/x/roads", "b/x/roads", "a/bays", "b/bays", "b/towns"]
    joins = [refers(column(f"{table}.town"), column("b/towns.id")) for table in tables[:-1]]
    columns = sorted({end for join in joins for end in (join.left, join.right)})
    path = tmp_path / "joins.html"
    write_found(path, profiles=profiles(*columns), keys=columns, suggestions=(), joins=joins)
    tab = opened(browser, path)
    assert drawn(tab) == ["bays", "bays", "roads", "roads", "roads.csv", "towns"]
    spoken = "[...document.querySelectorAll('.box')].map((box) => box.ariaLabel.split(', ')[0])"
    labels = ["roads.csv", "a/x/roads", "b/x/roads", "a/bays", "b/bays", "towns"]
    assert sorted(tab.run(spoken)) == sorted(labels)
    folders = "[...document.querySelectorAll('.folder')].map((each) => each.textContent)"
    assert sorted(tab.run(folders)) == ["a", "a/x", "b", "b/x", "file"]
    rows = "[...document.querySelectorAll('.box-row.is-key')].map((row) => row.textContent)"
    assert tab.run(rows) == ["id"]


OVERLAPS = """(() => {
  const all = [...document.querySelectorAll('#canvas .box, #canvas .tile')];
  const boxes = all.map((each) => each.getBoundingClientRect());
  return boxes.flatMap((one, at) => boxes.slice(at + 1).filter((other) => one.left < other.right
    && other.left < one.right && one.top < other.bottom && other.top < one.bottom)).length;
})()"""


@pytest.mark.parametrize("folders", [1, 12])
@pytest.mark.parametrize("tables", [24, 90, 900])
def test_a_picture_begins_with_an_overview_and_leads_to_tables(
    browser: Tab, tmp_path: Path, tables: int, folders: int
) -> None:
    ends = [column(f"f{at % folders}/t{at:03}.key") for at in range(tables)]
    joins = [refers(end, ends[at // 7 * 7 % 63]) for at, end in enumerate(ends) if at % 7]
    path = tmp_path / "joins.html"
    write_found(path, profiles=profiles(*ends), keys=ends, suggestions=(), joins=joins)
    tab = opened(browser, path)
    for _ in range(3):
        assert tab.run(OVERLAPS) == 0
        if drawn(tab, ".tile"):
            tab.run("document.querySelector('.tile').click()")
    assert drawn(tab, ".tile") == []
    assert 0 < len(drawn(tab)) <= 32
    lines = tab.run("document.querySelectorAll('#canvas path[data-ends]').length")
    assert lines or folders == 12  # all joins of a small folder may lead elsewhere


def test_a_crowded_picture_draws_the_rest_on_request(browser: Tab, tmp_path: Path) -> None:
    ends = lake(tables=40, keys=1)
    joins = [refers(end, ends[0]) for end in ends[1:]]
    path = tmp_path / "joins.html"
    write_found(path, profiles=profiles(*ends), keys=ends, suggestions=(), joins=joins)
    tab = opened(browser, path, "#table=publisher0%2Ftable00000.csv")
    assert len(drawn(tab)) == 32
    tab.run("document.getElementById('draw-all').click()")
    assert len(drawn(tab)) == 40
    assert tab.run(OVERLAPS) == 0


def test_a_card_has_a_row_for_each_other_table(browser: Tab, tmp_path: Path) -> None:
    airport, city = column("air/airports.code"), column("air/airports.city")
    origin, target, town = (column(f"air/flights.{name}") for name in ("origin", "to", "town"))
    joins = [refers(origin, airport), refers(target, airport, 0.85), undeclared(town, city)]
    columns = sorted({end for join in joins for end in (join.left, join.right)})
    path = tmp_path / "joins.html"
    write_found(path, profiles=profiles(*columns), keys=columns, suggestions=(), joins=joins)
    tab = opened(browser, path, "#table=air%2Fflights.csv")
    assert tab.run("document.querySelectorAll('.pair').length") == 1
    on = "[...document.querySelectorAll('.pair .line .on')].map((line) => line.textContent)"
    assert tab.run(on) == ["origin = code", "to = code"]
    fold = "document.querySelector('.pair .fold')"
    assert tab.run(f"{fold}.textContent") == "and 1 more join"
    tab.run(f"{fold}.click()")
    assert tab.run(on) == ["origin = code", "to = code", "town = city"]


def test_a_table_lists_the_joins_that_follow(browser: Tab, tmp_path: Path) -> None:
    follows = replace(undeclared(ORDER, PREORDER), role=Role.SIBLING)
    dates = undeclared(column("shop/orders.day"), column("old/preorders.day"))
    columns = sorted({CUSTOMER, ORDER, PREORDER, dates.left, dates.right})
    path = tmp_path / "joins.html"
    write_found(
        path,
        profiles=profiles(*columns),
        keys=columns,
        suggestions=(),
        joins=[refers(ORDER, CUSTOMER), refers(PREORDER, CUSTOMER)],
        derived={Derivation.SAME_KEY: (follows,), Derivation.DATES: (dates,)},
    )
    tab = opened(browser, path, "#table=shop%2Forders.csv")
    tab.run(UNFOLD)
    one, key = "1 join that follows, ", "customer_id = preorders.customer"
    rests = "[...document.querySelectorAll('.rest')].map((rest) => rest.innerText)"
    keys = [text.replace("\nAccept\nReject", "").split("\n\n") for text in tab.run(rests)]
    assert keys == [
        ["and 1 more table by the same key", f"{one}{FOLLOWING[Derivation.SAME_KEY]}", key],
        [
            f"and 1 more table {MORE_TABLES[Derivation.DATES]}",
            f"{one}{FOLLOWING[Derivation.DATES]}",
            "day = preorders.day",
        ],
    ]
    assert "No joins found" not in tab.run("document.querySelector('.card').innerText")
    choose(tab, "role", "0")
    tab.wait("document.querySelector('.rest') === null")


def test_an_exact_name_comes_first(tab: Tab) -> None:
    search(tab, "orders")
    # The table of this name, one whose name holds it, and one that joins with them.
    assert cards(tab) == ["orders", "preorders", "customers"]
    search(tab, "customer")
    # A column of this name, a table that begins with it, then a column that does.
    assert cards(tab) == ["preorders", "customers", "orders", "stores"]
    search(tab, "orders.customer_id")
    assert cards(tab)[0] == "orders"


@pytest.mark.parametrize(
    ("name", "value", "titles"),
    [
        ("role", "0", {"customers", "orders", "preorders"}),
        ("role", "3", {"airports", "harbours", "roads"}),
        ("cardinality", "ONE_ONE", {"customers", "stores"}),
        ("evidence", "declared", {"customers", "orders", "preorders"}),
        ("evidence", "data", {"airports", "harbours", "roads"}),
        ("evidence", "people", {"customers", "orders", "preorders", "stores"}),
        ("schema", "old", {"preorders"}),
        ("score", "0.9", {"customers", "orders"}),
    ],
)
def test_a_filter_keeps_the_joins_that_it_names(
    tab: Tab, name: str, value: str, titles: set[str]
) -> None:
    choose(tab, name, value)
    assert set(cards(tab)) == titles
    assert tab.run("document.getElementById('filter-count').textContent") == "(1)"


def test_undecided_joins_are_those_without_a_decision(tab: Tab) -> None:
    tab.run("document.forms.filters.undecided.click()")
    assert "stores" not in cards(tab)
    assert "orders" in cards(tab)


def test_a_link_opens_the_same_view(tab: Tab, page: Path) -> None:
    search(tab, "customer")
    choose(tab, "role", "0")
    tab.run(
        "document.getElementById('sort').value = 'name';"
        "document.getElementById('sort').dispatchEvent(new Event('change')); 0"
    )
    seen, address = cards(tab), str(tab.run("location.hash"))
    assert address == "#q=customer&sort=name&role=0"
    assert cards(opened(tab, page, address)) == seen
    assert tab.run("document.getElementById('search').value") == "customer"
    assert tab.run("document.forms.filters.role.value") == "0"
    tab.run("document.getElementById('clear').click()")
    assert len(cards(tab)) == 7
    assert tab.run("location.hash") == "#sort=name"


def test_a_link_that_names_nothing_known_shows_everything(tab: Tab, page: Path) -> None:
    assert len(cards(opened(tab, page, "#table=gone.csv&role=99&schema=gone"))) == 7


def test_a_table_is_shown_with_its_neighbours(tab: Tab, page: Path) -> None:
    # The rejected join of stores is not drawn.
    shown = ["airports", "customers", "harbours", "orders", "preorders", "roads"]
    assert drawn(tab) == shown
    tab.run(
        "[...document.querySelectorAll('.title')].find((b) => b.textContent === 'orders').click()"
    )
    assert cards(tab) == ["orders"]
    assert tab.run("location.hash") == "#table=shop%2Forders.csv"
    assert cards(opened(tab, page, "#table=shop%2Forders.csv")) == ["orders"]
    assert drawn(tab) == ["customers", "orders"]
    choose(tab, "role", "3")
    assert drawn(tab) == ["orders"]


def sentences(tab: Tab, table: str) -> list[str]:
    search(tab, table)
    tab.run(UNFOLD)
    script = "[...document.querySelector('.card').querySelectorAll('.sentence')]"
    return list(tab.run(f"{script}.map((line) => line.textContent)"))


def test_a_join_is_told_in_a_sentence(tab: Tab) -> None:
    (orders,) = sentences(tab, "orders")
    assert orders == (
        "1,090 of 1,200 orders (91%) match one customer; an inner join drops 76 without a value "
        "and 34 whose value has no match."
    )
    assert sentences(tab, "customers")[0] == (
        "90 of 100 customers (90%) match about 14 orders each; an inner join drops 10 whose value "
        "has no match."
    )
    assert sentences(tab, "stores") == ["20% of the stores with a value match one customer."]


def test_the_bars_show_the_rows_with_a_partner(tab: Tab) -> None:
    shown = "[...document.querySelectorAll('.card:first-child .containment')]"
    search(tab, "orders")
    tab.run(UNFOLD)
    assert tab.run(f"{shown}.map((bar) => bar.textContent)") == [
        "rows of orders91%",
        "rows of customers90%",
    ]
    assert tab.run(f"{shown}[0].title") == "1,090 of 1,200 rows of orders have a partner"
    width = tab.run(f"{shown}[0].querySelector('i').style.width")
    assert width.startswith("90.8")
    # Nobody counted the rows of columns that hold values of one kind.
    search(tab, "harbours")
    tab.run(UNFOLD)
    assert tab.wait(f"{shown}.length > 0 && {shown}[0].textContent").startswith("values of ")


def test_the_rows_without_a_partner_have_sql(tab: Tab) -> None:
    search(tab, "orders")
    tab.run(UNFOLD)
    panels = "[...document.querySelectorAll('.card:first-child [data-statement]')]"
    title, text = tab.run(
        f"{panels}.slice(-1).map((panel) => [...panel.children].map((part) => part.textContent))[0]"
    )
    assert title == "SQL of rows without a partner"
    assert " ".join(text.split()) == (
        'SELECT a.* FROM "orders" AS a WHERE NOT EXISTS( SELECT 1 FROM "customers" AS b WHERE '
        'a."customer_id" = b."id" ) LIMIT 100'
    )


def test_a_score_is_told_signal_by_signal(tab: Tab) -> None:
    choose(tab, "score", "0.9")
    tab.run(UNFOLD)
    rows = "[...document.querySelectorAll('.card:first-child .why li')]"
    tab.wait(f"{rows}.length > 0")
    assert tab.run(f"{rows}.map((row) => row.textContent)") == [
        "values of one column found in the other0.70",
        "names of the columns0.25",
        "all signals together0.82",
        "joinability0.90",
    ]


def exported(tab: Tab, name: str) -> str:
    tab.run(
        "URL.createObjectURL = (blob) => {"
        "  blob.text().then((text) => { saved = text; }); return 'data:,'; };"
        f"globalThis.saved = ''; document.querySelector('[data-export={name}]').click(); 0"
    )
    return str(tab.wait("globalThis.saved"))


def test_the_shown_joins_are_exported(tab: Tab) -> None:
    choose(tab, "score", "0.9")
    (row,) = csv.DictReader(io.StringIO(exported(tab, "csv")))
    expected = {
        "left_table": "shop/customers.csv",
        "left_column": "id",
        "right_table": "shop/orders.csv",
        "right_column": "customer_id",
        "role": "reference",
        "direction": "-1",
        "joinability": "0.9",
        "cardinality": "one-to-many",
        "decision": "",
    }
    assert {name: row[name] for name in expected} == expected
    assert exported(tab, "sql") == (
        f"-- shop/customers.csv.id = shop/orders.csv.customer_id: 5 rows when tested\n{SQL};\n"
    )
    assert exported(tab, "mermaid") == (
        'erDiagram\n    orders }o--o| customers : "customer_id = id"\n'
    )
    models: Any = yaml.safe_load(exported(tab, "dbt"))
    test = {"arguments": {"to": "ref('customers')", "field": "id"}, "config": {"severity": "warn"}}
    assert models == {
        "version": 2,
        "models": [{"name": "orders", "columns": [
            {"name": "customer_id", "data_tests": [{"relationships": test}]}
        ]}],
    }  # fmt: skip
    assert tab.run("document.getElementById('export-said').textContent") == (
        "Downloaded joins.yml with 1 join."
    )


def test_a_join_without_sql_says_so_in_the_export(tab: Tab) -> None:
    choose(tab, "schema", "old")
    assert exported(tab, "sql").startswith(
        "-- old/preorders.csv.customer = shop/customers.csv.id: no SQL"
    )


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, ends = tmp_path_factory.mktemp("crowded") / "joins.html", lake(tables=90, keys=1)
    joins = [refers(end, ends[at // 9 * 9]) for at, end in enumerate(ends) if at % 9]
    write_found(path, profiles=profiles(*ends), keys=ends, suggestions=(), joins=joins)
    return path


@pytest.mark.parametrize("shown", ["tables", "one table", "folders"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(
    browser: Tab, page: Path, crowded: Path, scheme: str, width: int, shown: str
) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.send("Emulation.setEmulatedMedia", features=features)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.send("Emulation.setDeviceMetricsOverride", **size)
    address = "#table=shop%2Forders.csv" if shown == "one table" else ""
    tab = opened(browser, crowded if shown == "folders" else page, address)
    assert bool(drawn(tab, ".tile")) is (shown == "folders")
    tab.run(UNFOLD)
    tab.run("document.querySelectorAll('details').forEach((each) => { each.open = true; }); 0")
    tab.run((files("axe_core_python") / "axe.min.js").read_text("utf-8"))
    tab.run(
        "globalThis.found = null; axe.run().then(({ violations }) => { found = violations; }); 0"
    )
    tab.wait("found !== null")
    brief = "found.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 160))])"
    assert tab.run(brief) == []
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    assert tab.log == []
    browser.send("Emulation.clearDeviceMetricsOverride")
