"""Test that decisions about a file hold for the newer files with which it becomes one table."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    GlobalTagsClass,
    StatusClass,
    TagAssociationClass,
)

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import Pair, pair_of
from gms import Gms
from lakes.lake import column, describe
from lakes.quick_runs import GivenJoins, Runs, shown, urn_of

KEYS = [f"K{at * 37 % 1009}" for at in range(40)]


def add(gms: Gms, lake: Path, name: str, prefix: str = "") -> None:
    header, rows = "item", KEYS
    if name.startswith("sales"):
        year = int(name[6:10])
        header = "no,item"
        rows = [f"{year}{at},{KEYS[(at * 7 + year) % 40]}" for at in range(60)]
    lake.mkdir(exist_ok=True)
    lake.joinpath(name).write_text("\n".join((header, *rows, "")))
    describe(gms, f"{prefix}{name}", header.split(","))


def pair(year: int, prefix: str = "") -> Pair:
    return pair_of(column(f"{prefix}sales_{year}.csv.item"), column(f"{prefix}items.csv.item"))


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as server:
        yield server


def run_of_first_year(gms: Gms, lake: Path, prefix: str) -> Runs:
    for name in ("items.csv", "sales_2023.csv"):
        add(gms, lake, name, prefix)
    runs = Runs(gms, lake)
    runs([pair(2023, prefix)])
    return runs


def decide(gms: Gms, decided: Pair, way: str) -> None:
    """Reject a join in one of the ways that people have in DataHub."""
    urn = urn_of(decided)
    if way == "tag":
        gms.put(urn, GlobalTagsClass([TagAssociationClass(REJECTED)]))
    elif way == "hide":
        gms.put(urn, StatusClass(removed=True))
    else:
        gms.delete(urn)


@pytest.mark.parametrize("prefix", ["", "mnt/lake/"])
@pytest.mark.parametrize("described", [False, True])
@pytest.mark.parametrize("way", ["tag", "hide", "delete"])
def test_a_rejection_holds_for_the_next_year(
    gms: Gms, tmp_path: Path, way: str, prefix: str, *, described: bool
) -> None:
    lake = tmp_path / "lake"
    runs = run_of_first_year(gms, lake, prefix)
    assert shown(gms) == {pair(2023, prefix)}
    decide(gms, pair(2023, prefix), way)
    add(gms, lake, "sales_2024.csv", prefix)
    catalog = {"folder": str(lake), "described": described}
    for _ in range(2):
        runs([pair(2024, prefix)], catalog=catalog)
        assert shown(gms) == set()


@pytest.mark.parametrize("prefix", ["", "mnt/lake/"])
@pytest.mark.parametrize("described", [False, True])
def test_an_acceptance_holds_for_the_next_year(
    gms: Gms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, *, described: bool
) -> None:
    lake = tmp_path / "lake"
    runs = run_of_first_year(gms, lake, prefix)
    gms.put(urn_of(pair(2023, prefix)), GlobalTagsClass([TagAssociationClass(ACCEPTED)]))
    add(gms, lake, "sales_2024.csv", prefix)
    accepted = set[Pair]()

    def find(source: GivenJoins, catalog: Catalog, session: Session) -> Findings:
        accepted.update(catalog.facts.accepted)
        return _find(source, catalog, session)

    _find = GivenJoins._find  # noqa: SLF001 (it receives what the run read)
    monkeypatch.setattr(GivenJoins, "_find", find)
    runs([pair(2024, prefix)], catalog={"folder": str(lake), "described": described})
    assert pair(2024, prefix) in accepted


@pytest.mark.parametrize("prefix", ["", "mnt/lake/"])
def test_a_join_without_a_decision_moves_to_the_newest_file(
    gms: Gms, tmp_path: Path, prefix: str
) -> None:
    lake = tmp_path / "lake"
    runs = run_of_first_year(gms, lake, prefix)
    for year in (2024, 2025):
        add(gms, lake, f"sales_{year}.csv", prefix)
        for _ in range(2):
            report = runs([pair(year, prefix)])
            assert shown(gms) == {pair(year, prefix)}
            assert (report.joins_accepted, report.joins_rejected) == (0, 0)
            assert [warning.title for warning in report.warnings] == ["Files read as one table"]
