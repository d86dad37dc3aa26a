"""Test that a run after changes and decisions finds what a run without kept results finds."""

import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.find import FindConfig
from datahub_hyperjoin.find import find as find_all
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification import values
from datahub_hyperjoin.tables import Pair, Table, pair_of

Columns = dict[str, list[str]]
Lake = dict[str, Columns]
Decisions = dict[Pair, CatalogEvidence]

_ARTICLES = [f"B-{number:03}" for number in range(40)]
_COUNTRIES = ["Austria", "Chad", "Chile", "Cuba", "Fiji", "Ghana", "Peru", "Togo", "Oman", "Mali"]
_CODES = ["AT", "TD", "CL", "CU", "FJ", "GH", "PE", "TG", "OM", "ML"]


def build_lake() -> Lake:
    """Build tables that join by values, by another form, by entities and by composite keys."""
    orders = [(order, line) for order in range(30) for line in range(3)]
    return {
        "articles": {"article": _ARTICLES, "label": [f"Ale of {code}" for code in _ARTICLES]},
        "prices": {"article": _ARTICLES[5:], "price": ["4.50"] * 35, "land": _CODES[:7] * 5},
        "lines": {
            "order": [str(order) for order, _ in orders],
            "line": [str(line) for _, line in orders],
            "article": [_ARTICLES[(order + line) % 30] for order, line in orders],
        },
        "parcels": {
            "order": [str(order) for order, _ in orders[:70]],
            "line": [str(line) for _, line in orders[:70]],
            "weight": [str(7 * order % 11) for order, _ in orders[:70]],
        },
        "customers": {
            "customer": [str(at) for at in range(700, 760)],
            "rank": ["1", "2", "3"] * 20,
        },
        "visits": {"customer": [f"{at:08}" for at in range(700, 750)] * 2, "hour": ["7", "8"] * 50},
        "countries": {"country": _COUNTRIES, "people": [str(at) for at in range(10)]},
    }


def remove_rows(lake: Lake, chance: random.Random) -> None:
    table = lake[chance.choice([*lake])]
    kept = sorted(chance.sample(range(count_rows(table)), max(6, count_rows(table) * 2 // 3)))
    table.update({path: [cells[row] for row in kept] for path, cells in table.items()})


def repeat_rows(lake: Lake, chance: random.Random) -> None:
    table = lake[chance.choice([*lake])]
    count = chance.randint(1, count_rows(table))
    table.update({path: cells + cells[:count] for path, cells in table.items()})


def rename_column(lake: Lake, chance: random.Random) -> None:
    table = lake[chance.choice([*lake])]
    path = chance.choice([*table])
    table[f"{path}_{chance.randint(2, 9)}"] = table.pop(path)


def change_cells(lake: Lake, chance: random.Random) -> None:
    table = lake[chance.choice([*lake])]
    path = chance.choice([*table])
    cells = table[path]
    changed = {*chance.sample(range(len(cells)), len(cells) // 3)}
    table[path] = [
        chance.choice(["NA", "", "B-007", "3", "Peru"]) if row in changed else cell
        for row, cell in enumerate(cells)
    ]


def add_table(lake: Lake, chance: random.Random) -> None:
    other = lake[chance.choice([*lake])]
    lake[f"more{len(lake)}"] = {path: cells[::2] + cells[:3] for path, cells in other.items()}


def remove_table(lake: Lake, chance: random.Random) -> None:
    if len(lake) > 3:
        del lake[chance.choice([*lake])]


CHANGES = (remove_rows, repeat_rows, rename_column, change_cells, add_table, remove_table)


def count_rows(table: Columns) -> int:
    return len(next(iter(table.values())))


def write(lake: Mapping[str, Columns], folder: Path) -> list[Table]:
    """Write the tables whose contents differ from their files, and list all tables."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        if file.stem not in lake:
            file.unlink()
    for name, columns in lake.items():
        rows = [tuple(columns), *zip(*columns.values(), strict=True)]
        file, text = folder / f"{name}.csv", "\n".join(map(",".join, rows))
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    return scan_folder(folder, TableSelection(platform="file", env="PROD"), warn=lambda *_: None)


def decide(found: Findings, decided: Decisions, chance: random.Random) -> Decisions:
    """Accept or reject one of the suggestions, or take all decisions back."""
    if not found.suggestions or chance.random() < 0.2:
        return {}
    suggestion = chance.choice(found.suggestions)
    pair = pair_of(suggestion.query, suggestion.candidate)
    return {**decided, pair: CatalogEvidence(verdict=chance.choice([*Verdict]))}


def find(
    tables: list[Table], store: Path | None, decided: Decisions | None = None
) -> tuple[Findings, RunProgress]:
    progress = RunProgress()
    found = find_all(
        Catalog(tables=tables, facts=CatalogFacts(pairs=decided or {})),
        FindConfig(profile=ProfileConfig(store=store)),
        progress,
        lambda: pytest.fail("Spark is not needed"),
    )
    return found, progress


@settings(max_examples=4, deadline=None)
@given(
    steps=st.lists(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3), max_size=3),
    chance=st.randoms(),
)
def test_kept_results_change_nothing(
    steps: list[list[Callable[[Lake, random.Random], None]]], chance: random.Random
) -> None:
    lake = build_lake()
    with tempfile.TemporaryDirectory() as name:
        folder, decided = Path(name), Decisions()
        kept, _ = find(write(lake, folder / "lake"), folder / "store")
        for step in steps:
            for change in step:
                change(lake, chance)
            tables = write(lake, folder / "lake")
            if chance.random() < 0.5:
                decided = decide(kept, decided, chance)
            kept, _ = find(tables, folder / "store", decided)
            anew, _ = find(tables, None, decided)
            assert kept == anew


def test_the_lake_joins_in_every_way(tmp_path: Path) -> None:
    found, _ = find(write(build_lake(), tmp_path / "lake"), None)
    ways = {join.measured.compared_as for join in found.joins}
    assert {"", "countries", "numbers without leading zeros"} <= ways
    assert any(join.further for join in found.joins)


def test_only_changed_tables_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = build_lake()
    find(write(lake, tmp_path / "lake"), tmp_path / "store")
    lake["parcels"] = {path: cells[:60] for path, cells in lake["parcels"].items()}
    tables = write(lake, tmp_path / "lake")
    read: list[str] = []

    def note(table: Table, *arguments: object, **named: object) -> object:
        read.append(table.title)
        return read_table(table, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(values, "read_table", note)
    found, progress = find(tables, tmp_path / "store")
    assert {*read} == {"parcels"}
    assert progress.counts["tables_from_profile_store"] == 6
    assert found.joins
