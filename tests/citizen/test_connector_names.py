"""Test that files are found under the names that DataHub's own connectors give them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    StatusClass,
    TagAssociationClass,
)

from datahub_hyperjoin.catalog.config import CatalogConfig
from datahub_hyperjoin.metadata.urns import REJECTED, dataset_urn
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.tables import pair_of
from gms import Gms
from lakes.lake import describe, table
from lakes.quick_runs import ALL, Runs, shown, urn_of

NAMES = ("airlines", "airports", "delays", "flights", "planes")


def describe_as(gms: Gms, lake: Path, prefix: str, *, extension: str = ".csv") -> None:
    """Put the tables of a lake into the catalog, under the path of another folder."""
    for name in NAMES:
        header = lake.joinpath(f"{name}.csv").read_text().split("\n", 1)[0]
        describe(gms, f"{prefix}/{name}{extension}", header.split(","))


@pytest.fixture
def gms() -> Gms:
    """Set up a server without datasets."""
    return Gms()


@pytest.fixture(autouse=True)
def _started(gms: Gms) -> object:
    with gms:
        yield


def joined(gms: Gms) -> set[str]:
    """Return the datasets of all visible relationships."""
    found: set[str] = set()
    for urn in gms.urns("erModelRelationship"):
        aspect = gms.get(urn, ERModelRelationshipPropertiesClass)
        status = gms.get(urn, StatusClass)
        if aspect and not (status and status.removed):
            found |= {aspect.source, aspect.destination}
    return found


def complaints(report: HyperJoinReport) -> list[str]:
    """Return a run's warnings, except the warning that no metadata was produced."""
    ignored = "No metadata was produced by the source"
    return [
        f"{one.title}: {one.message} {one.context}"
        for one in report.warnings
        if one.title != ignored
    ]


def test_a_run_writes_to_the_datasets_of_the_file_connector(
    gms: Gms, run: Callable[..., str], lake: Path
) -> None:
    prefix = str(lake).lstrip("/")
    describe_as(gms, lake, prefix)
    output = run(gms)
    own = {dataset_urn(table(f"{prefix}/{name}.csv")) for name in NAMES}
    assert joined(gms) == own
    assert {write.urn for write in gms.writes if write.entity == "dataset"} <= own
    assert f"flights.csv is {prefix}/flights.csv" in output
    before = len(gms.writes)
    run(gms, "--no-default-report")
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}


def test_a_lake_that_the_connector_saw_elsewhere_is_found_by_the_ends_of_paths(
    gms: Gms, lake: Path
) -> None:
    describe_as(gms, lake, "mnt/s3", extension="")
    report = Runs(gms, lake)([])
    assert [*report.files_matched] == [f"{name}.csv is mnt/s3/{name}" for name in NAMES]
    assert not complaints(report)


def test_two_copies_are_left_to_the_recipe(gms: Gms, lake: Path) -> None:
    describe_as(gms, lake, "mnt/dev")
    describe_as(gms, lake, "mnt/prod")
    for name in ("dev", "prod"):
        prefix = f"/mnt/{name}/"
        catalog = {"folder": str(lake), "names": prefix + "{table}"}
        report = Runs(gms, lake)([], catalog=catalog)
        assert len(report.datasets_not_read) == len(NAMES)
        assert not complaints(report)
    # A part of them is certain, so that the run goes on without the others.
    describe(gms, "airlines.csv", ["carrier", "title"])
    report = Runs(gms, lake)([])
    [warning] = complaints(report)
    assert warning.startswith("Dataset of a file unclear: These files are skipped")
    assert "Set `catalog.names`" in warning
    assert "airports.csv may be mnt/dev/airports.csv, mnt/prod/airports.csv" in warning


def test_a_lake_of_unclear_files_stops_and_says_which_key_decides(
    gms: Gms, run: Callable[..., str], lake: Path
) -> None:
    describe_as(gms, lake, "mnt/dev")
    describe_as(gms, lake, "mnt/prod")
    output = run(gms, fails=True)
    assert "several datasets may be those of the files, and none is certain" in output
    assert "Set `catalog.names`" in output
    assert "flights.csv may be mnt/dev/flights.csv, mnt/prod/flights.csv" in output


def test_names_need_a_place_for_the_table() -> None:
    with pytest.raises(ValueError, match=r"`names` is 'mnt'\. Add {table}: without it"):
        CatalogConfig(names="mnt")
    with pytest.raises(ValueError, match=r"Use only {table} in it"):
        CatalogConfig(names="{schema}/{table}")


def test_suggestions_go_and_decisions_hold_on_the_connectors_datasets(gms: Gms, lake: Path) -> None:
    describe_as(gms, lake, "mnt/lake")
    carrier, origin, plane = (
        pair_of(*(replace(one, table=table(f"mnt/lake/{one.table}")) for one in pair))
        for pair in ALL
    )
    run = Runs(gms, lake)
    run([carrier, origin, plane])
    assert shown(gms) == {carrier, origin, plane}
    gms.put(urn_of(origin), GlobalTagsClass(tags=[TagAssociationClass(tag=REJECTED)]))
    run([carrier, origin])
    assert shown(gms) == {carrier}
    assert run([carrier, origin, plane]).joins_rejected == 1
    assert shown(gms) == {carrier, plane}
