import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from datahub_hyperjoin.model.config import OURS, Loss, ModelConfig, Reuse, Scoring
from datahub_hyperjoin.model.config.sections import paper
from datahub_hyperjoin.model.saved.files import write_description
from datahub_hyperjoin.recipe import HyperJoinConfig
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig

MINIMAL = {"catalog": {"folder": "lake"}}
SECTIONS = {
    "catalog",
    "connections",
    "spark",
    "profile",
    "model",
    "emit",
    "page",
    "stateful_ingestion",
}


def keys(schema: dict[str, Any], node: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Yield each recipe key below a node, with its description.

    A key without its own description has that of its section.
    """
    for name, value in node.get("properties", {}).items():
        if not path and name not in SECTIONS:
            continue
        options = [value, *value.get("anyOf", [])]
        sections = [
            schema["$defs"][one["$ref"].rsplit("/", 1)[1]] for one in options if "$ref" in one
        ]
        described = [one["description"] for one in [value, *sections] if one.get("description")]
        yield f"{path}{name}", described[0] if described else ""
        if name != "stateful_ingestion":
            for section in sections:
                yield from keys(schema, section, f"{path}{name}.")


def test_every_key_is_described() -> None:
    schema = HyperJoinConfig.model_json_schema()
    found = dict(keys(schema, schema, ""))
    assert len(found) > 50
    assert [key for key, description in found.items() if len(description) < 10] == []


def test_a_folder_is_enough() -> None:
    config = HyperJoinConfig.model_validate(MINIMAL)
    assert config.model == ModelConfig()
    assert config.profile == ProfileConfig()
    assert config.spark == SessionConfig()
    assert config.env == "PROD"


def test_sections_reach_the_rooms() -> None:
    ranking = {"scoring": "hin", "top_k": 9}
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": {"ranking": ranking}})
    assert config.model.ranking.scoring is Scoring.HIN
    assert config.model.ranking.top_k == 9


def test_one_key_selects_the_paper_s_setting() -> None:
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": {"setting": "paper"}})
    assert config.model == paper()


def test_keys_that_are_written_win_over_the_setting() -> None:
    model = {"setting": "paper", "training": {"epochs": 2}, "ranking": {"scoring": "blend"}}
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": model})
    assert config.model == replace(
        paper(),
        training=replace(paper().training, epochs=2),
        ranking=replace(paper().ranking, scoring=Scoring.BLEND),
    )


def test_a_default_that_is_written_wins_over_the_setting() -> None:
    model = {"setting": "paper", "ranking": {"min_joinability": 0.5}}
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": model})
    assert config.model.ranking.min_joinability == 0.5


def test_a_method_of_code_is_taken_as_it_is() -> None:
    method = replace(OURS, loss=Loss.TRIPLET)
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": {"setting": method}})
    assert config.model == ModelConfig(setting=method)


def test_a_setting_is_written_as_its_name() -> None:
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": {"setting": "paper"}})
    assert config.model_dump(mode="json")["model"]["setting"] == "paper"
    schema = HyperJoinConfig.model_json_schema()["$defs"]["ModelConfig"]["properties"]["setting"]
    assert (schema["enum"], schema["default"]) == (["ours", "paper"], "ours")


def test_the_model_has_few_keys() -> None:
    schema = HyperJoinConfig.model_json_schema()
    sections = {*(field.name for field in fields(ModelConfig))}
    model = [key for key, _ in keys(schema, schema, "") if key.startswith("model.")]
    assert len(model) <= 45
    assert len([key for key in model if key.removeprefix("model.") not in sections]) <= 31


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({}, r"There are no tables to read. Set `catalog.folder` or `connections`"),
        (
            {"catalog": {"folder": "lake", "tags": ["pii"], "known_only": False}},
            r"catalog\n.*`domains`, `containers` and `tags` need `known_only: true`",
        ),
        ({"catalog": {"demo": True}}, r"Set `catalog.folder` or `connections`"),
        (
            {"connections": [{"database": {"url": "hush"}}]},
            r"connections.0.database\n.*`url` is not an SQLAlchemy URL\. Write it as in postgresql",
        ),
        (
            {"connections": [{"database": {"url": "sqlite://"}, "names": "{scheme}.{table}"}]},
            r"`names` is '{scheme}.{table}'\. Use only {database}, {schema} and {table} in it",
        ),
        (
            {"connections": [{"database": {"url": "sqlite://"}, "names": "{schema}"}]},
            r"`names` is '{schema}'\. Add {table}: without it all tables share a name",
        ),
        (
            {"connections": [{"folder": "s3a://lake", "names": "{schema}.{table}"}]},
            r"`names` is '{schema}.{table}'\. Use only {folder} and {table} in it",
        ),
        (
            {"connections": [{"folder": "lake"}]},
            r"folder\n.*`folder` is 'lake', which is not a URI\. Write it as in s3a://lake/sales",
        ),
        (
            {"connections": [{"platform": "s3"}]},
            r"connections.0\n.*needs exactly one of `database`, `spark_catalog` and `folder`",
        ),
        (
            {"connections": [{"folder": "s3a://lake", "spark_catalog": "spark_catalog"}]},
            r"connections.0\n.*needs exactly one of `database`, `spark_catalog` and `folder`",
        ),
        (
            {"connections": [{"spark_catalog": "lakehouse"}]},
            r"connections.0\n.*`platform` is missing\. .* tables in the Spark catalog `lakeh",
        ),
        ({**MINIMAL, "sprak": {}}, r"sprak\n  Extra inputs are not permitted"),
        (
            {**MINIMAL, "model": {"ranking": {"topk": 3}}},
            r"model.ranking.topk\n  Unexpected keyword argument",
        ),
        (
            {**MINIMAL, "model": {"ranking": {"top_k": 0}}},
            r"model.ranking.top_k\n  Input should be greater than or equal to 1",
        ),
        (
            {**MINIMAL, "model": {"keys": {"min_completeness": 30}}},
            r"model.keys.min_completeness\n  Input should be less than or equal to 1",
        ),
        (
            {**MINIMAL, "model": {"ranking": {"scoring": "cosine"}}},
            r"model.ranking.scoring\n  Input should be 'signals', 'blend' or 'hin'",
        ),
        (
            {**MINIMAL, "model": {"reuse": "sometimes"}},
            r"model.reuse\n  Input should be 'exact', 'always' or 'never'",
        ),
        (
            {**MINIMAL, "model": {"setting": "papre"}},
            r"model.setting\n  Input should be 'ours' or 'paper'",
        ),
        (
            {**MINIMAL, "model": {"setting": {"loss": "triplet"}}},
            r"model.setting\n  Input should be 'ours' or 'paper'",
        ),
        (
            {**MINIMAL, "model": {"setting": "paper", "training": {"epoch": 3}}},
            r"model.training.epoch\n  Unexpected keyword argument",
        ),
        (
            {**MINIMAL, "model": {"setting": "paper", "training": None}},
            r"model.training\n  Input should be a dictionary or an instance of TrainingConfig",
        ),
        (
            {**MINIMAL, "model": {"setting": "paper", "ranking": {"top_k": 0}}},
            r"model.ranking.top_k\n  Input should be greater than or equal to 1",
        ),
        (
            {**MINIMAL, "model": {"features": {"names": False, "values": False}}},
            r"model.features\n.*`names` and `values` are both false; read at least one of them",
        ),
        (
            {**MINIMAL, "model": {"network": {"width": 12}}},
            r"model.network.width\n  Input should be a multiple of 8",
        ),
        (
            {**MINIMAL, "profile": {"max_rows": 0}},
            r"profile.max_rows\n  Input should be greater than or equal to 1",
        ),
        (
            {**MINIMAL, "emit": {"sql_timeout": 0}},
            r"emit.sql_timeout\n  Input should be greater than 0",
        ),
        (
            {**MINIMAL, "emit": {"namespace": "our joins"}},
            r"emit\n.*`namespace` is 'our joins'; use words of letters, digits",
        ),
    ],
)
def test_a_wrong_key_is_named_with_what_is_expected(recipe: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        HyperJoinConfig.model_validate(recipe)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            {"page": "file/joins.html"},
            r"`page` is '.*joins.html', and .*file is not a folder. Set",
        ),
        ({"page": "joins" * 99}, r"`page` is .*, and the system reports: File name too long"),
        ({"page": "."}, r"`page` is '.*', and it is a folder. Set another path"),
        ({"page": "file"}, r"`page` is 'file', and it holds something else than a page of joins"),
        ({"model": {"path": "file/model"}}, r"`model.path` is .*, and .*file is not a folder"),
        ({"model": {"path": "file"}}, r"`model.path` is .*, and it is not a folder"),
        (
            {"profile": {"store": "file"}},
            r"`profile.store` is 'file', and it is not a folder. Set",
        ),
        (
            {"model": {"path": "."}},
            r"`model.path` is .*, and it holds 'file', which is not part of",
        ),
        (
            {"model": {"start": "none"}},
            r"`model.start` is 'none', which holds no saved model. Set",
        ),
        ({"model": {"start": "."}}, r"`model.start` is '.', which holds no saved model. Set it"),
        ({"model": {"start": "file"}}, r"`model.start` is 'file', which holds no saved model"),
        (
            {"catalog": {"folder": "file/lake", "demo": True}},
            r"`catalog.folder` is .*, and .*file is not a folder",
        ),
    ],
)
def test_what_would_fail_at_the_end_is_refused_at_the_start(
    recipe: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("file").write_text("not to be lost")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValidationError, match=message):
        HyperJoinConfig.model_validate({**MINIMAL, **recipe})


def test_a_dialect_that_cannot_be_is_refused_by_its_key() -> None:
    recipe = {"catalog": {"folder": "lake", "dialect": {"delimiter": "||"}}}
    with pytest.raises(ValidationError, match=r"catalog\.dialect\n.*must be one ASCII character"):
        HyperJoinConfig.model_validate(recipe)


def test_an_error_does_not_show_what_may_be_secret() -> None:
    recipe = {"connections": [{"database": {"url": "hush", "pasword": "hush"}}]}
    with pytest.raises(ValidationError) as caught:
        HyperJoinConfig.model_validate(recipe)
    assert "pasword\n  Unexpected keyword argument" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_folder_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What an account sees that may read only; tests may run as one that may do everything.
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    with pytest.raises(ValidationError, match=rf"`page` is .*, and {tmp_path} cannot be written"):
        HyperJoinConfig.model_validate({**MINIMAL, "page": str(tmp_path / "joins.html")})


def test_a_folder_in_which_training_was_killed_is_taken(tmp_path: Path) -> None:
    for name in ("training.safetensors", ".tmpA1b2C3", ".unfinished-k3_x0q9z", ".lock"):
        tmp_path.joinpath(name).write_bytes(b"half")
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": {"path": str(tmp_path)}})
    assert config.model.path == tmp_path


def test_a_model_that_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    recipe = {**MINIMAL, "model": {"path": str(tmp_path)}}
    file = tmp_path / "model.json"
    file.write_text('{"of": "the user"}')
    message = r"model.json is damaged or was not written by this version .*\(move or delete it to"
    with pytest.raises(ValidationError, match=rf"`model.path` is '.*', and its file {message}"):
        HyperJoinConfig.model_validate(recipe)
    write_description(file, {"architecture": {"format": 99}}, {})
    message = r"a model of a newer version of the package \(format 99, here \d+\). Set another path"
    with pytest.raises(ValidationError, match=rf"`model.path` is '.*', and it holds {message}"):
        HyperJoinConfig.model_validate(recipe)


def test_a_start_that_holds_a_model_is_taken(tmp_path: Path) -> None:
    for name in ("model.json", "weights.safetensors"):
        tmp_path.joinpath(name).touch()
    model = {"start": str(tmp_path), "reuse": "always"}
    config = HyperJoinConfig.model_validate({**MINIMAL, "model": model})
    assert (config.model.start, config.model.reuse) == (tmp_path, Reuse.ALWAYS)


def test_paths_that_can_be_made_are_taken(tmp_path: Path) -> None:
    last = "<!doctype html>\n<title>Suggested joins</title>\nthe last run's"
    tmp_path.joinpath("joins.html").write_text(last)
    tmp_path.joinpath("empty").mkdir()
    tmp_path.joinpath("kept").mkdir()
    write_description(tmp_path / "kept" / "model.json", {"architecture": {"format": 1}}, {})
    for page in ("joins.html", "new/folders/joins.html"):
        for model in ("empty", "kept", "new/model"):
            paths = {"page": str(tmp_path / page), "model": {"path": str(tmp_path / model)}}
            config = HyperJoinConfig.model_validate({**MINIMAL, **paths})
            assert (config.page, config.model.path) == (tmp_path / page, tmp_path / model)
