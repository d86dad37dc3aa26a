"""Test that tables which a run does not read keep their earlier suggestions."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    QueryPropertiesClass,
    StatusClass,
    StructuredPropertiesClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.report import HyperJoinReport
from gms import Gms
from lakes.lake import codes, describe_folder, table, write_table

Ingest = Callable[..., str]
Break = Callable[[str, str], None]
LAYERS = {"queries": True, "lineage": True}
GARBAGE = bytes(range(256)) * 40
CODES = [f"B-{number:03}" for number in range(60)]
NAMES = [
    f"{kind} of {town}"
    for kind in ("Ale", "Bock", "Dubbel", "Gose", "Helles", "Kriek", "Lager", "Mild", "Pils", "Rye")
    for town in ("Aachen", "Bruges", "Cork", "Dublin", "Erfurt", "Ghent")
]


@pytest.fixture
def break_at(monkeypatch: pytest.MonkeyPatch, lake: Path) -> Break:
    """Return a function that makes a file unreadable when a stage of the next run begins."""
    stage = HyperJoinReport.stage

    def arrange(begun: str, file: str) -> None:
        def begin(report: HyperJoinReport, name: str) -> AbstractContextManager[object]:
            if name == begun:
                lake.joinpath(file).write_bytes(GARBAGE)
            return stage(report, name)

        monkeypatch.setattr(HyperJoinReport, "stage", begin)

    return arrange


def write_brewery(lake: Path, gms: Gms) -> None:
    """Write tables with a crosswalk between codes and names, and with a large value domain."""
    write_table(lake, "articles.csv", {"article": CODES, "label": NAMES})
    write_table(lake, "orders.csv", {"beer": CODES[:40] * 3, "litres": range(120)})
    write_table(lake, "prices.csv", {"product": NAMES[10:], "price": codes("EUR", 50)})
    for at in range(5):
        towns = codes("Town of ", 30)[at:] * 4
        write_table(lake, f"sales{at}.csv", {"town": towns, "sold": codes(f"{at}-", len(towns))})
    describe_folder(gms, lake)


def visible(gms: Gms) -> dict[str, object]:
    """Return all suggestions that a person sees: relationships, queries, properties and lineage."""
    seen: dict[str, object] = {}
    for urn in [*gms.urns("erModelRelationship"), *gms.urns("query")]:
        status = gms.get(urn, StatusClass)
        if not (status and status.removed):
            relationship = gms.get(urn, ERModelRelationshipPropertiesClass)
            query = gms.get(urn, QueryPropertiesClass)
            seen[urn] = relationship.name if relationship else query and query.name
    for urn in [*gms.urns("schemaField"), *gms.urns("dataset")]:
        properties, lineage = gms.get(urn, StructuredPropertiesClass), None
        if ":schemaField:" not in urn:
            lineage = gms.get(urn, UpstreamLineageClass)
        edges = (lineage.fineGrainedLineages or []) if lineage else []
        seen[urn] = (
            # The short name of a table is known only to a run that has its file.
            sorted(
                re.sub(r"\.csv(?=[\] ])", "", str(it))
                for each in properties.properties
                for it in each.values
            )
            if properties
            else [],
            sorted(str(edge.upstreams) for edge in edges),
        )
    return seen


def section(output: str, title: str) -> str:
    """Return the part of a run's report that contains a given warning."""
    report = output[output.index("Source (hyperjoin) report:") :]
    start = report.index(title)
    return report[start : report.index("}", start)]


@pytest.mark.parametrize(
    ("stage", "file", "names_it"),
    [
        ("Verifying on the data", "planes.csv", True),
        ("Verifying on the data", "articles.csv", True),
        ("Finding keys of several columns", "planes.csv", False),
        ("Running the SQL", "planes.csv", False),
    ],
)
def test_a_table_that_is_lost_during_a_run_keeps_its_joins(  # noqa: PLR0913 - fixtures
    stage: str, file: str, gms: Gms, ingest: Ingest, lake: Path, break_at: Break, *, names_it: bool
) -> None:
    write_brewery(lake, gms)
    ingest(emit=LAYERS)
    before = visible(gms)
    assert "through articles" in str(before)
    break_at(stage, file)
    output = ingest(emit=LAYERS)
    assert visible(gms) == before
    if names_it:
        assert f"'{file}'" in section(output, "Table not verified")
        assert "flights" not in section(output, "Table not verified")


@pytest.mark.parametrize("mounted", [["flights", "orders", "sales"], ["airlines", "articles"]])
def test_tables_that_are_not_mounted_keep_their_joins(
    mounted: list[str], gms: Gms, ingest: Ingest, lake: Path
) -> None:
    write_brewery(lake, gms)
    ingest(emit=LAYERS)
    before, files = visible(gms), {path: path.read_bytes() for path in lake.iterdir()}
    for path in files:
        if not path.name.startswith(tuple(mounted)):
            path.unlink()
    output = ingest(emit=LAYERS)
    assert visible(gms) == before
    warning = section(output, "Tables not read")
    assert "Their suggestions stay" in warning
    assert "airports.csv" in warning
    for path, content in files.items():
        path.write_bytes(content)
    assert "Tables not read" not in ingest(emit=LAYERS)
    assert visible(gms) == before


def test_tables_whose_datasets_are_removed_lose_their_joins(
    gms: Gms, ingest: Ingest, lake: Path
) -> None:
    ingest(emit=LAYERS)
    lake.joinpath("planes.csv").unlink()
    gms.put(dataset_urn(table("planes.csv")), StatusClass(removed=True), pipeline="connector")
    assert "Tables not read" not in ingest(emit=LAYERS)
    assert "planes" not in str([*visible(gms).values()])
