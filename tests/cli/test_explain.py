"""Test `hyperjoin explain`, run as users run it: with a recipe, a folder or a server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from datahub_hyperjoin.cli import main
from lakes.lake import write_flights
from lakes.shop import Shop, open_shop

CUSTOMER, ID = "shop.public.orders.customer", "shop.public.customers.id"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop() as opened:
        monkeypatch.setenv("DATAHUB_GMS_URL", opened.gms.url)
        opened.suggest("orders.customer", "customers.id", 0.93)
        yield opened


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


def fail(*arguments: str) -> str:
    result = explain(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    return result.output


def write_recipe(folder: Path, **config: object) -> Path:
    lake = folder / "lake"
    write_flights(lake)
    recipe = folder / "recipe.yml"
    settings = {"catalog": {"folder": str(lake)}, **config}
    out = {"filename": str(folder / "joins.json")}
    written = {
        "source": {"type": "hyperjoin", "config": settings},
        "sink": {"type": "file", "config": out},
    }
    recipe.write_text(yaml.safe_dump(written))
    return recipe


@pytest.mark.usefixtures("spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_pair_of_a_recipe_is_explained_and_nothing_is_written(tmp_path: Path) -> None:
    out = tmp_path / "joins.json"
    out.write_text("of an earlier run")
    recipe = write_recipe(tmp_path, profile={"store": str(tmp_path / "store")})
    result = explain("flights.tailnum", "planes.tailnum", "-c", str(recipe))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "flights.csv.tailnum = planes.csv.tailnum",
        "Suggested as reference to planes.csv.tailnum with a joinability of 1.00",
    ]
    assert "signal       measured    probability alone    from" in lines
    record = json.loads(
        explain("flights.minutes", "-c", str(recipe), "--json").stdout,
    )
    assert record["obstacle"] == "its type is decimal, and key columns are texts and whole numbers"
    assert record["suggestions"] == []
    assert out.read_text() == "of an earlier run"


def test_a_folder_is_explained_without_a_recipe_and_without_spark(tmp_path: Path) -> None:
    write_flights(tmp_path)
    result = explain("planes.tailnum", "flights.tailnum", "--in", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "Suggested as reference to planes.csv.tailnum" in result.stdout
    ambiguous = fail("carrier", "flights.tailnum", "--in", str(tmp_path))
    assert ambiguous == (
        "Error: 'carrier' fits airlines.csv.carrier, delays.csv.carrier, flights.csv.carrier. "
        "Write more of the table's name, so that it fits one column\n"
    )


@pytest.mark.usefixtures("shop")
def test_without_a_recipe_datahub_tells_what_it_knows() -> None:
    text = explain(CUSTOMER, ID)
    assert text.exit_code == 0, text.output
    lines = dict(line.split(": ", 1) for line in text.output.splitlines())
    assert lines["join"] == f"{CUSTOMER} → {ID}"
    assert lines["decided"] == "suggested with joinability 0.93; nobody decided"
    assert json.loads(explain(ID, CUSTOMER, "--json").output)["role"].startswith("reference")


@pytest.mark.usefixtures("shop")
def test_a_pair_that_datahub_does_not_have_asks_for_a_recipe() -> None:
    assert (
        fail(CUSTOMER, "shop.public.regions.id")
        .strip()
        .endswith(
            f"Did you mean '{CUSTOMER} = {ID}'? To see why a pair is not suggested, add --recipe, "
            "or --in with a folder or database"
        )
    )


def test_a_single_column_needs_data() -> None:
    result = explain("flights.carrier")
    assert result.exit_code == 2
    assert (
        "A single column needs data: add --recipe, or --in with a folder or database, or name a"
        in result.output
    )


def test_a_recipe_that_cannot_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, decision="x.csv")
    message = fail("a.b", "c.d", "-c", str(recipe))
    assert message.startswith(f"Error: {recipe}: ")
    assert "- `decision` is not a key. Did you mean `decisions`?" in message


def test_a_recipe_of_another_source_is_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yml"
    source = {"type": "demo-data", "config": {}}
    recipe.write_text(yaml.safe_dump({"source": source, "sink": {"type": "console"}}))
    assert fail("a.b", "c.d", "-c", str(recipe)) == (
        f"Error: {recipe}: `source.type` is not hyperjoin. Name a recipe of this source\n"
    )
