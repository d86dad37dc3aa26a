"""Measure the HTML page of a large lake in a headless Chromium: `make bench-page`.

It writes the page of 5,000 joins between 2,000 tables, and measures how long it takes until the
list is there, and until a search, a filter or the choice of a folder or a table has changed list
and picture. With `--pictures FOLDER` it also writes screenshots.
"""

import argparse
import base64
import tempfile
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from tabulate import tabulate

from browser.chromium import Tab, browse
from browser.pages import EVIDENCE, column, profiles, write_found
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Join,
    JoinedColumns,
    Role,
    Statement,
)
from datahub_hyperjoin.model.ranking.pair_scoring import Contributions
from datahub_hyperjoin.tables import ColumnId

TABLES, JOINS = 2_000, 5_000
_SIGNALS = ("containment", "ochiai", "cells", "names", "lookup", "location", "related")
_NOUNS = ("orders", "customers", "products", "invoices", "payments", "stores", "flights", "planes")
_VIEWS = {
    "list": "",
    "join": "#q=customers",
    "panels": "#table=shop/orders.csv&dialect=snowflake",
    "focus": "#table=shop/customers.csv",
}
_SEARCH = """new Promise((done) => {
  const begin = performance.now(), box = document.getElementById("search");
  new MutationObserver((_, seen) => { seen.disconnect(); done(performance.now() - begin); })
    .observe(document.getElementById("cards"), { childList: true });
  STEP
})"""


def make_joins(tables: int, joins: int) -> list[Join]:
    """Make references between tables of a dozen schemas, and joins within one value domain.

    A tenth of the tables are referred to by most of the others, as in real databases.
    """
    random = np.random.default_rng(7)
    names = [
        f"schema{t % 12}/{_NOUNS[t % len(_NOUNS)]}_{t}" if t >= len(_NOUNS) else f"shop/{_NOUNS[t]}"
        for t in range(tables)
    ]
    popular = max(tables // 10, 2)
    found: dict[tuple[ColumnId, ColumnId], Join] = {}
    domain = [column(f"{name}.country") for name in names[popular : popular + 25]]
    for one, other in combinations(sorted(domain), 2):
        found[one, other] = _join(one, other, Role.SAME_DOMAIN, 0.6)
    while len(found) < joins:
        referring = int(random.integers(0, tables))
        key = min(int(random.exponential(popular / 3)), tables - 1)
        if random.random() < 0.8:  # most joins are within a schema
            key += (referring - key) % 12
        if referring == key or key >= tables:
            continue
        noun = names[key].rpartition("/")[2]
        one, other = column(f"{names[referring]}.{noun}_id"), column(f"{names[key]}.id")
        left, right = sorted((one, other))
        join = _join(left, right, Role.REFERENCE, float(random.beta(6, 2)))
        found[left, right] = replace(join, referenced=other)
    return list(found.values())


def _join(left: ColumnId, right: ColumnId, role: Role, score: float) -> Join:
    is_reference = role is Role.REFERENCE
    is_forward = is_reference and right.path == "id"
    many = Cardinality.MANY_ONE if is_forward else Cardinality.ONE_MANY
    evidence = replace(
        EVIDENCE,
        cardinality=many if is_reference else Cardinality.MANY_MANY,
        left_fan_out=0.97 if is_forward else 3.2,
        right_fan_out=3.2 if is_forward else 0.97,
    )
    declared = CatalogEvidence(declared="fk") if score > 0.9 else CatalogEvidence()
    return Join(
        left=left, right=right, joinability=score, evidence=evidence, role=role, catalog=declared
    )


def write(path: Path, *, tables: int, joins: int) -> None:
    """Write the page of a synthetic lake."""
    found = make_joins(tables, joins)
    columns = sorted({end for join in found for end in (join.left, join.right)})
    statements: dict[JoinedColumns, Statement] = {
        join.pairs: Statement(
            sql=f"SELECT\n  a.*,\n  b.*\nFROM '{join.left.table.name}' AS a\nJOIN "
            f"'{join.right.table.name}' AS b\n  ON a.\"{join.left.path}\" = "
            f'b."{join.right.path}"\nLIMIT 100',
            dialect="duckdb",
            rows=3_322,
        )
        for join in found
    }
    write_found(
        path,
        profiles=profiles(*columns),
        keys=columns,
        suggestions=(),
        joins=found,
        statements=statements,
        contributions={
            join.pairs[0]: Contributions(together=0.8, alone=dict.fromkeys(_SIGNALS, 0.23))
            for join in found
        },
        values=True,
    )


def load(tab: Tab, path: Path, address: str = "") -> float:
    """Open a page, wait for its list, and return the seconds that the page took to load."""
    tab.open(f"{path.as_uri()}{address}")
    tab.wait("document.readyState === 'complete' && document.querySelectorAll('.card').length > 0")
    return float(tab.run("performance.getEntriesByType('navigation')[0].loadEventEnd")) / 1000


def measure(tab: Tab, path: Path) -> dict[str, float]:
    """Measure the seconds that the page takes to load and to react."""
    steps = {
        "search a table": "box.value = 'customers'; box.dispatchEvent(new Event('input'));",
        "filter by role": "document.forms.filters.role.value = '0';"
        "document.forms.filters.role.dispatchEvent(new Event('change', { bubbles: true }));",
        "open a folder": "document.querySelector('.tile').click();",
        "show all again": "document.getElementById('clear').click();",
    }
    seconds = {"load": median(load(tab, path) for _ in range(3))}
    for name, step in steps.items():
        seconds[name] = float(awaited(tab, _SEARCH.replace("STEP", step))) / 1000
    return seconds


def awaited(tab: Tab, script: str) -> Any:  # noqa: ANN401 - JSON
    """Run a script that returns a promise, and return the value of the promise."""
    tab.run(f"globalThis.answer = undefined; ({script}).then((value) => {{ answer = value; }}); 0")
    return tab.wait("globalThis.answer")


def open_panels(tab: Tab) -> None:
    """Open the panels of the first join, and wait until its reasons are shown."""
    tab.run(
        "document.querySelector('#cards .line').click();"
        "document.querySelectorAll('#cards .evidence details').forEach((one) => one.open = true);"
        "document.querySelector('#cards .sql').scrollIntoView({ block: 'center' }); 0"
    )
    tab.wait("document.querySelector('.why li') !== null")


def take_pictures(tab: Tab, path: Path, folder: Path) -> None:
    """Write screenshots of each view of the page, for a desktop and a phone, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for scheme, (width, height) in product(("light", "dark"), ((1440, 900), (390, 844))):
        is_phone = width < height
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        tab.send("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
        tab.send("Emulation.setDeviceMetricsOverride", **size)
        for name, address in _VIEWS.items():
            tab.open("about:blank")
            load(tab, path, address)
            if name == "panels":
                open_panels(tab)
            shot = tab.send("Page.captureScreenshot")["data"]
            file = folder / f"{name}-{'phone' if is_phone else 'desk'}-{scheme}.png"
            file.write_bytes(base64.b64decode(shot))


def main() -> None:
    """Measure the page, and print a table of the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--joins", type=int, default=JOINS)
    parser.add_argument("--pictures", type=Path, help="folder for screenshots")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "joins.html"
        write(path, tables=given.tables, joins=given.joins)
        with browse(Path(folder) / "browser") as tab:
            seconds = measure(tab, path)
            if given.pictures:
                take_pictures(tab, path, given.pictures)
        rows = [(name, f"{value:.3f}") for name, value in seconds.items()]
        print(f"{path.stat().st_size / 1e6:.1f} MB")
        print(tabulate(rows, headers=("step", "seconds")))


if __name__ == "__main__":
    main()
