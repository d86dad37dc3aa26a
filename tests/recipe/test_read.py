"""Test that a recipe which cannot run is refused with clear sentences."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from datahub.configuration.common import should_show_stack_trace
from datahub.entrypoints import datahub
from datahub.ingestion.run.pipeline import Pipeline

from datahub_hyperjoin.recipe import RefusedRecipeError, read_recipe, recipe_keys

FOLDER = {"folder": "lake"}


def refuse(written: object) -> list[str]:
    with pytest.raises(RefusedRecipeError) as caught:
        read_recipe(written)
    title, *faults = str(caught.value).splitlines()
    assert title == "Correct the recipe's `source.config`:"
    return faults


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (
            {"catalog": {"foler": "lake"}},
            "`catalog.foler` is not a key. Did you mean `catalog.folder`?",
        ),
        (
            {"catalog": FOLDER, "model": {"ranking": {"topk": 3}}},
            "`model.ranking.topk` is not a key. Did you mean `model.ranking.top_k`?",
        ),
        (
            {"connections": [{"databse": {"url": "sqlite://"}}]},
            "`connections[0].databse` is not a key. Did you mean `connections[0].database`?",
        ),
        (
            {"catalog": FOLDER, "rankings": {}},
            "`rankings` is not a key. Did you mean `model.ranking`?",
        ),
        (
            {"catalog": FOLDER, "demo": True},
            "`demo` is not a key. Did you mean `catalog.demo`?",
        ),
        (
            {"catalog": {**FOLDER, "dialect": {"xyz": 1}}},
            "`catalog.dialect.xyz` is not a key. The keys of `catalog.dialect` are `delimiter`",
        ),
        (
            {"catalog": FOLDER, "model": {"ranking": {"top_k": 0}}},
            "`model.ranking.top_k`: Input should be greater than or equal to 1",
        ),
        (
            {"catalog": None},
            "`catalog` is a section. Write its keys below it, indented by two spaces",
        ),
        (
            {"connections": {"database": {"url": "sqlite://"}}},
            "`connections` is a list. Begin each of its entries with `- `",
        ),
    ],
)
def test_a_fault_is_one_sentence_with_its_key(written: dict[str, Any], fault: str) -> None:
    assert [listed[: len(fault) + 2] for listed in refuse(written)] == [f"- {fault}"]


def test_every_fault_is_listed() -> None:
    written = {"catalog": {**FOLDER, "demos": True}, "spark": {"mastre": "local"}}
    assert [fault.split("`")[1] for fault in refuse(written)] == ["catalog.demos", "spark.mastre"]


def test_an_unknown_key_without_a_neighbour_gets_the_keys_of_the_recipe() -> None:
    [fault] = refuse({"catalog": FOLDER, "zzzz": 1})
    assert fault.startswith("- `zzzz` is not a key. The keys of `source.config` are `")
    assert "`catalog`" in fault


def test_a_fault_shows_no_value() -> None:
    database = {"url": "hush", "pasword": "hush"}
    faults = refuse({"connections": [{"database": database}]})
    assert "Did you mean `connections[0].database.password`?" in faults[0]
    assert "hush" not in str(faults)


@pytest.mark.parametrize("written", [None, [], "lake"])
def test_a_recipe_without_settings_gets_an_example(written: object) -> None:
    with pytest.raises(RefusedRecipeError, match=r"(?s)no `source\.config`\. Add .*r: \./lake"):
        read_recipe(written)


def test_a_recipe_is_read_without_the_libraries_of_networks() -> None:
    code = (
        "import sys, datahub_hyperjoin.recipe.config\n"
        "print({'torch', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_sections_and_their_keys_are_listed() -> None:
    keys = recipe_keys()
    assert {"catalog.folder", "connections[].database.url", "model.llm.cache"} <= {*keys}
    assert len(keys) == len({*keys})


def run(tmp_path: Path, recipe: dict[str, Any]) -> str:
    """Run DataHub's command with a faulty recipe, and return the error message."""
    sink = {"type": "file", "config": {"filename": str(tmp_path / "out.json")}}
    file = tmp_path / "recipe.yml"
    file.write_text(yaml.safe_dump({"sink": sink, **recipe}))
    result = CliRunner().invoke(datahub, ["ingest", "-c", str(file)])
    assert isinstance(result.exception, Exception)
    assert not should_show_stack_trace(result.exception)
    return str(result.exception)


def source(config: object) -> dict[str, Any]:
    return {"source": {"type": "hyperjoin", "config": config}}


def test_a_misspelled_key_ends_the_command_without_a_traceback(tmp_path: Path) -> None:
    shown = run(tmp_path, source({"catalog": {"foler": "lake"}}))
    assert "Did you mean `catalog.folder`?" in shown


def test_a_source_without_settings_ends_the_command_with_an_example(tmp_path: Path) -> None:
    assert "no `source.config`" in run(tmp_path, {"source": {"type": "hyperjoin"}})


@pytest.mark.parametrize(
    ("folder", "reason"),
    [("lost", "and no such folder exists. Correct the path"), ("one.csv", "which is a file. Set")],
)
def test_a_bad_path_ends_the_command_at_once(tmp_path: Path, folder: str, reason: str) -> None:
    tmp_path.joinpath("one.csv").write_text("a\n1\n")
    shown = run(tmp_path, source({"catalog": {"folder": str(tmp_path / folder)}}))
    assert reason in shown
    assert "catalog.folder" in shown


def test_state_without_a_server_is_explained(tmp_path: Path) -> None:
    config = {"catalog": {"folder": str(tmp_path)}, "stateful_ingestion": {"enabled": True}}
    shown = run(tmp_path, {"pipeline_name": "joins", **source(config)})
    assert "`stateful_ingestion` keeps its state in a DataHub server" in shown
    assert "or remove `stateful_ingestion`" in shown


def test_state_without_a_name_is_explained(tmp_path: Path) -> None:
    config = {"catalog": {"folder": str(tmp_path)}, "stateful_ingestion": {"enabled": True}}
    assert "Set `pipeline_name` beside `source`" in run(tmp_path, source(config))


def test_state_in_a_file_needs_no_server(tmp_path: Path) -> None:
    provider = {"type": "file", "config": {"filename": str(tmp_path / "state.json")}}
    state = {"enabled": True, "state_provider": provider}
    config = {"catalog": {"folder": str(tmp_path)}, "stateful_ingestion": state}
    sink = {"type": "file", "config": {"filename": str(tmp_path / "out.json")}}
    Pipeline.create({"pipeline_name": "joins", **source(config), "sink": sink})


def test_a_plain_secret_ends_the_command_without_a_traceback(tmp_path: Path) -> None:
    database = {"url": f"sqlite:///{tmp_path}/shop.db", "password": "hush"}
    shown = run(tmp_path, source({"connections": [{"database": database}]}))
    assert "Write `${NAME}` instead" in shown
    assert "hush" not in shown
