"""Test that `hyperjoin check` says which tables DataHub has, and about how much a run writes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from datahub.ingestion.run.pipeline import Pipeline

from datahub_hyperjoin.cli import main
from gms import Gms
from lakes.lake import describe, describe_folder, write_flights

LAYERS: dict[str, Any] = {
    "queries": True,
    "documents": True,
    "lineage": True,
    "glossary_terms": True,
    "ai_context": True,
    "embed": "http://localhost:8766",
}


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lake"
    write_flights(folder)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as server:
        yield server


def recipe(gms: Gms, **config: object) -> dict[str, Any]:
    return {
        "pipeline_name": "joins",
        "source": {"type": "hyperjoin", "config": {"catalog": {"folder": "lake"}, **config}},
        "sink": {"type": "datahub-rest", "config": {"server": gms.url}},
    }


def check(written: dict[str, Any]) -> tuple[int, str]:
    Path("recipe.yml").write_text(yaml.safe_dump(written))
    result = CliRunner().invoke(main, ["check", "recipe.yml"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.output


@pytest.mark.usefixtures("without_spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("emit", [{}, LAYERS, {"properties": False}], ids=["few", "all", "one"])
def test_the_number_of_records_is_about_what_a_run_writes(
    gms: Gms, lake: Path, emit: dict[str, Any]
) -> None:
    describe_folder(gms, lake)
    written = recipe(gms, emit=emit)
    status, output = check(written)
    assert status == 0, output
    found = re.search(r"The first run writes about ([\d,]+) records, and later runs write", output)
    assert found
    said = int(found[1].replace(",", ""))
    before = len(gms.writes)
    Pipeline.create(written).run()
    ours = [each for each in gms.writes[before:] if not each.entity.startswith("dataHub")]
    assert len(ours) / 2 <= said <= 2 * len(ours)


def test_a_recipe_none_of_whose_tables_is_in_datahub_cannot_run(gms: Gms) -> None:
    describe(gms, "other.csv", ["id"])
    status, output = check(recipe(gms))
    assert status == 1
    assert "recipe.yml has 1 problem:\n- DataHub knows none of the tables on platform" in output
    assert "can run" not in output


def test_the_env_that_has_the_tables_is_named(gms: Gms) -> None:
    for name in ("airlines", "flights", "planes"):
        describe(gms, f"{name}.csv", ["carrier", "tailnum"], env="DEV")
    status, output = check(recipe(gms))
    assert status == 1
    assert (
        "DataHub has airlines.csv, flights.csv, planes.csv in env 'DEV': set `env: DEV`" in output
    )


def test_tables_that_datahub_lacks_are_warnings(gms: Gms) -> None:
    describe(gms, "flights.csv", ["carrier", "tailnum"])
    describe(gms, "planes.csv", ["tailnum", "maker"])
    status, output = check(recipe(gms))
    assert status == 0, output
    assert output.startswith("Tables not in the catalog: airlines.csv, airports.csv, delays.csv\n")


def test_a_lake_without_a_server_has_an_estimate_too(gms: Gms) -> None:
    file = {"type": "file", "config": {"filename": "joins.json"}}
    status, output = check({**recipe(gms), "sink": file})
    assert status == 0, output
    assert re.search(r"^It writes about \d+ records\.$", output, re.MULTILINE)
