"""Test in a browser the panels that open below a join, and which joins the page exports."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import pytest

from browser import chromium
from browser.chromium import Tab
from browser.pages import (
    EVIDENCE,
    UNFOLD,
    column,
    holding,
    profiled,
    profiles,
    refers,
    undeclared,
    write_found,
)
from datahub_hyperjoin.joins import Cardinality, Join, Statement
from datahub_hyperjoin.model.ranking.pair_scoring import Contributions
from datahub_hyperjoin.tables import ColumnId, ColumnProfile

pytestmark = pytest.mark.skipif(not chromium.PATH, reason="needs Chromium")

ORDER, CUSTOMER = column("shop/orders.customer"), column("shop/customers.id")
LINE, MAIL, SENDER = (column(f"shop/{each}") for each in ("lines.at", "mails.to", "senders.mail"))
COUNTRIES = [column(f"geo/{name}.country") for name in ("airports", "harbours", "roads")]
TO_ONE = replace(EVIDENCE, cardinality=Cardinality.MANY_ONE, left_containment=0.98)
REPEATED = replace(EVIDENCE, cardinality=Cardinality.MANY_MANY)
RUN = """\
SELECT
  a.*,
  b.*
FROM "shop/orders.csv" AS a
JOIN "shop/customers.csv" AS b
  ON a."customer" = b."id"
LIMIT 100"""
DATES = 'SELECT a.* FROM "x.csv" AS a JOIN "y.csv" AS b ON TRY_CAST(a.x AS DATE) = b.y'
_SAID = "document.getElementById('export-said').textContent"
SAMPLES = {ORDER: ("C7", "C9"), CUSTOMER: ("C7", "<b>C8</b>")}


def _joins() -> list[Join]:
    return [
        replace(refers(ORDER, CUSTOMER), evidence=TO_ONE.reversed),
        replace(refers(LINE, CUSTOMER, 0.8), evidence=REPEATED),
        replace(refers(MAIL, SENDER, 0.7), evidence=TO_ONE),
        *(undeclared(one, other) for one, other in combinations(sorted(COUNTRIES), 2)),
    ]


def _profile(id_: ColumnId) -> ColumnProfile:
    personal = "e-mail addresses" if id_ == SENDER else ""
    plain = holding(profiled(id_), SAMPLES.get(id_, ("x",)))
    return replace(plain, personal=personal, distinct=59_817 if id_ == MAIL else plain.distinct)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, joins = tmp_path_factory.mktemp("panels") / "joins.html", _joins()
    columns = sorted({end for join in joins for end in (join.left, join.right)})
    write_found(
        path,
        profiles=[
            replace(table, columns=tuple(_profile(each.id) for each in table.columns))
            for table in profiles(*columns)
        ],
        keys=columns,
        suggestions=(),
        joins=joins,
        statements={
            joins[0].pairs: Statement(sql=RUN, dialect="duckdb", rows=5),
            joins[1].pairs: Statement(sql=DATES, dialect="duckdb", rows=7, compared="dates"),
        },
        contributions={
            joins[0].pairs[0]: Contributions(
                together=0.82, alone={"containment": 0.7, "names": 0.25}
            )
        },
        values=True,
    )
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium.browse(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


def opened(browser: Tab, page: Path, table: str, address: str = "") -> Tab:
    """Open the page at one table, and open all panels below its joins."""
    browser.log.clear()
    browser.open("about:blank")
    browser.open(f"{page.as_uri()}#table={table}.csv{address}")
    browser.wait("document.readyState === 'complete' && document.querySelector('.card') !== null")
    browser.run(UNFOLD)
    return browser


def texts(tab: Tab, selector: str) -> list[str]:
    found = f"[...document.querySelectorAll({selector!r})]"
    return list(tab.run(f"{found}.map((each) => each.textContent)"))


def choose_dialect(tab: Tab, name: str, place: str = "#cards .dialect select") -> None:
    tab.wait(f"document.querySelector('{place}').options.length > 0")
    tab.run(
        f"document.querySelector('{place}').value = '{name}';"
        f"document.querySelector('{place}').dispatchEvent(new Event('change')); 0"
    )


def test_the_sql_that_was_run_comes_first(browser: Tab, page: Path) -> None:
    tab = opened(browser, page, "shop/orders")
    tab.wait("document.querySelector('#cards .dialect select').options.length > 0")
    assert texts(tab, "#cards pre") == [RUN]
    assert texts(tab, "#cards .dialect option")[:2] == ["DuckDB, as written", "PostgreSQL"]
    assert texts(tab, "#cards .sql > small") == ["5 rows when tested"]


def test_another_dialect_is_a_translation_that_was_not_run(browser: Tab, page: Path) -> None:
    tab = opened(browser, page, "shop/orders")
    choose_dialect(tab, "mysql")
    translation = (
        "SELECT\n  a.*,\n  b.*\nFROM `orders` AS a\n"
        "JOIN `customers` AS b\n  ON a.`customer` = b.`id`\nLIMIT 100"
    )
    assert texts(tab, "#cards pre") == [translation]
    assert texts(tab, "#cards .sql > small") == ["translated to MySQL or MariaDB, not run"]
    (note,) = texts(tab, "#cards [data-statement] p")
    assert note == (
        "Not run: translated to MySQL or MariaDB from the SQL for DuckDB (5 rows when tested). "
        "Names of files have become names of tables."
    )
    assert tab.run("location.hash") == "#dialect=mysql&table=shop%2Forders.csv"
    assert translation in exported(tab, "sql")
    assert "Not run: translated to MySQL or MariaDB" in exported(tab, "sql")


def test_a_link_keeps_the_dialect_and_a_wrong_one_is_ignored(browser: Tab, page: Path) -> None:
    tab = opened(browser, page, "shop/orders", "&dialect=tsql")
    assert "FROM [orders] AS a" in texts(tab, "#cards pre")[0]
    assert tab.run("document.getElementById('export-dialect').value") == "tsql"
    choose_dialect(tab, "", "#export-dialect")
    assert texts(tab, "#cards pre") == [RUN]
    assert texts(opened(browser, page, "shop/orders", "&dialect=gone"), "#cards pre") == [RUN]
    # The dialect in which the statement was run needs no translation.
    assert texts(opened(browser, page, "shop/orders", "&dialect=duckdb"), "#cards pre") == [RUN]


def test_sql_without_a_translation_stays_as_it_was_run(browser: Tab, page: Path) -> None:
    tab = opened(browser, page, "shop/lines", "&dialect=snowflake")
    assert texts(tab, "#cards pre") == [DATES]
    assert texts(tab, "#cards .sql > small") == ["as written for DuckDB, not for Snowflake"]
    assert texts(tab, "#cards [data-statement] p")[0].startswith(
        "Not translated to Snowflake, which may read such values otherwise. This is the SQL for "
        "DuckDB: 7 rows"
    )


def test_values_of_both_columns_are_shown(browser: Tab, page: Path) -> None:
    tab = opened(browser, page, "shop/orders")
    assert texts(tab, "#cards .values dt") == [
        "orders.customer",
        "customers.id",
        "Without a partner",
    ]
    assert texts(tab, "#cards .values code") == ["C7", "C9", "C7", "<b>C8</b>", "C9"]
    assert texts(tab, "#cards .values .both") == ["C7", "C7"]
    assert texts(opened(browser, page, "shop/mails"), "#cards .values dd") == [
        "none shown: personal, or not read",
        "none shown: personal, or not read",
    ]


def exported(tab: Tab, name: str) -> str:
    """Click an export button, and return the content of the file; empty if the page saves none."""
    tab.run(
        "globalThis.saved = null; URL.createObjectURL = (blob) => {"
        "  blob.text().then((text) => { saved = text; }); return 'data:,'; };"
        f"document.querySelector('[data-export={name}]').click();"
        f"if ({_SAID}.startsWith('No')) saved = ' '; 0"
    )
    return str(tab.wait("globalThis.saved")).strip()


@pytest.mark.parametrize(("name", "file"), [("dbt", "joins.yml"), ("mermaid", "joins.mmd")])
def test_joins_that_repeat_rows_are_left_out_with_the_reason(
    browser: Tab, page: Path, name: str, file: str
) -> None:
    tab = opened(browser, page, "")  # no table of this name, so all are shown
    text = exported(tab, name)
    assert "orders" in text
    assert "lines" not in text
    assert "roads" not in text
    assert tab.run(_SAID) == (
        f"Downloaded {file} with 2 joins. "
        "Left out: 3 without a key (siblings or one domain); 1 to values that repeat."
    )


def test_a_join_that_people_reject_on_the_page_is_left_out(browser: Tab, page: Path) -> None:
    tab = opened(browser, page, "shop/mails")
    assert "mails }o--o| senders" in exported(tab, "mermaid")
    tab.run("document.querySelector('[data-decision=rejected]').click()")
    assert exported(tab, "mermaid") == ""
    assert tab.run(_SAID) == (
        "No join of the list can be exported. Left out: 1 rejected or hidden by people."
    )
    tab.run("document.querySelector('[data-decision=\"\"]').click()")


@pytest.mark.parametrize(("joins", "shown"), [(8, True), (9, False)])
def test_a_page_of_few_joins_tells_at_once_what_it_knows(
    browser: Tab, tmp_path: Path, joins: int, *, shown: bool
) -> None:
    referring = [column(f"shop/orders.customer{at}") for at in range(joins)]
    write_found(
        tmp_path / "joins.html",
        profiles=profiles(*referring, CUSTOMER),
        keys=[CUSTOMER],
        suggestions=(),
        joins=[replace(refers(each, CUSTOMER), evidence=TO_ONE.reversed) for each in referring],
    )
    browser.open((tmp_path / "joins.html").as_uri())
    browser.wait("document.querySelector('#cards .line') !== null")
    assert (browser.run("document.querySelectorAll('#cards .sentence').length") > 0) is shown


def test_an_estimated_number_of_values_is_marked(browser: Tab, page: Path) -> None:
    mail, sender = texts(opened(browser, page, "shop/mails"), "#cards .facts")
    assert mail == "mails.to: text, about 59,800 distinct values, key column"
    assert sender == "senders.mail: text, 1 distinct value, key column"


def test_menus_open_below_their_buttons_on_a_phone(browser: Tab, page: Path) -> None:
    size = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.send("Emulation.setDeviceMetricsOverride", **size)
    tab = opened(browser, page, "")
    tab.run("document.querySelectorAll('.menu').forEach((each) => { each.open = true; }); 0")
    tops = "[...document.querySelectorAll('.drop')].map((d) => d.getBoundingClientRect().top)"
    below = "document.querySelector('.menu').getBoundingClientRect().bottom"
    assert all(0 < top - tab.run(below) < 30 for top in tab.run(tops))
    browser.send("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_open_panels_are_accessible(browser: Tab, page: Path, scheme: str, width: int) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.send("Emulation.setEmulatedMedia", features=features)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.send("Emulation.setDeviceMetricsOverride", **size)
    tab = opened(browser, page, "", "&dialect=snowflake")
    tab.run("document.querySelectorAll('details').forEach((each) => { each.open = true; }); 0")
    tab.wait("document.querySelector('.why li') !== null")
    tab.run((files("axe_core_python") / "axe.min.js").read_text("utf-8"))
    tab.run("globalThis.found = null; axe.run().then((all) => { found = all.violations; }); 0")
    tab.wait("found !== null")
    brief = "found.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 160))])"
    assert tab.run(brief) == []
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    assert tab.log == []
    browser.send("Emulation.clearDeviceMetricsOverride")
