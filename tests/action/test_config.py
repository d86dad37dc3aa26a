"""Test that errors about the action's configuration name the wrong key and say what to do."""

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from datahub_actions.pipeline.pipeline_config import PipelineConfig
from datahub_actions.pipeline.pipeline_context import PipelineContext

from datahub_hyperjoin.action.errors import RefusedActionError
from datahub_hyperjoin.action.plugin import (
    ActionConfig,
    HyperJoinAction,
    QuickIngestion,
)
from datahub_hyperjoin.recipe import RefusedRecipeError

SINK = {"type": "datahub-rest", "config": {"server": "http://localhost:1"}}
EXAMPLE = Path(__file__).parents[2] / "ingestion_recipes" / "actions" / "hyperjoin.yml"


def write(folder: Path, *, kind: str = "hyperjoin", sink: Any = None, **config: Any) -> Path:  # noqa: ANN401
    lake = folder / "lake"
    lake.mkdir(exist_ok=True)
    settings = {"catalog": {"folder": str(lake)}, "profile": {"store": str(folder / "s")}}
    recipe = {"source": {"type": kind, "config": {**settings, **config}}, "sink": sink or SINK}
    path = folder / "recipe.yml"
    path.write_text(yaml.safe_dump(recipe))
    return path


def refused(path: Path) -> str:
    with pytest.raises(RefusedActionError) as caught:
        QuickIngestion.of(path)
    head, fault = str(caught.value).split("\n- ")
    assert head == "Correct the action's configuration:"
    return fault.removeprefix(f"`recipe` is {str(path)!r}, which ")


def test_every_wrong_key_is_named_without_its_value() -> None:
    with pytest.raises(RefusedActionError) as caught:
        ActionConfig.read({"wait_seconds": -1, "token": "hush"})
    assert str(caught.value).splitlines()[1:] == [
        "- `recipe`: Field required",
        "- `wait_seconds`: Input should be greater than or equal to 0",
        "- `token`: Extra inputs are not permitted",
    ]


def test_a_missing_server_is_refused() -> None:
    with pytest.raises(RefusedActionError) as caught:
        HyperJoinAction.create({"recipe": "x.yml"}, PipelineContext("joins", None))
    assert str(caught.value).endswith(
        "- `datahub` is missing. Add the section beside `action`, with `server` and `token`"
    )


def test_a_missing_recipe_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.yml").startswith("cannot be read: ")


def test_a_recipe_that_is_no_yaml_is_refused_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yml"
    path.write_text("sink:\n  token: [hush\n")
    assert refused(path) == "cannot be read: no YAML in line 3"


def test_a_recipe_of_another_source_is_refused(tmp_path: Path) -> None:
    assert refused(write(tmp_path, kind="file")) == (
        "runs the source 'file'. Name a recipe whose `source.type` is `hyperjoin`"
    )


def test_a_recipe_without_a_server_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, sink={"type": "file", "config": {"filename": "x.json"}})
    assert refused(path) == (
        "writes to no server. Use its sink `datahub-rest`, because the action changes the "
        "catalog itself"
    )


def test_a_recipe_without_a_store_is_refused(tmp_path: Path) -> None:
    assert refused(write(tmp_path, profile={})) == (
        "would read all tables after every decision. Set `profile.store` to a folder, and run "
        "the recipe once"
    )


def test_a_recipe_that_would_train_is_refused(tmp_path: Path) -> None:
    model = {"ranking": {"scoring": "blend"}, "path": str(tmp_path / "model")}
    assert refused(write(tmp_path, model=model)) == (
        "would train a network after every decision. Set `model.path` to a folder, and run the "
        "recipe once with `datahub ingest`"
    )


def test_a_saved_model_is_used_without_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.action.plugin.holds_model", lambda _: True)
    model = {"ranking": {"scoring": "blend"}, "path": str(tmp_path / "model")}
    ingestion = QuickIngestion.of(write(tmp_path, model=model))
    assert ingestion.recipe["source"]["config"]["model"]["reuse"] == "always"


def test_an_unknown_key_of_the_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(RefusedRecipeError, match="`foo` is not a key"):
        QuickIngestion.of(write(tmp_path, foo=1))


def test_a_failed_run_is_an_error_without_the_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        message = "no answer to s3cr3t"
        raise OSError(message)

    sink = {"type": "datahub-rest", "config": {"server": "http://localhost:1", "token": "s3cr3t"}}
    ingestion = QuickIngestion.of(write(tmp_path, sink=sink))
    assert "s3cr3t" not in repr(ingestion)
    monkeypatch.setattr("datahub_hyperjoin.action.plugin.Pipeline.create", fail)
    caplog.set_level(logging.ERROR)
    assert not ingestion.run()
    assert caplog.messages == ["The joins were not updated: OSError: no answer to ***"]


def test_the_example_is_valid() -> None:
    example = PipelineConfig.model_validate(yaml.safe_load(EXAMPLE.read_text()))
    assert example.action.type == "hyperjoin"
    ActionConfig.read(example.action.config)
