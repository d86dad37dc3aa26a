"""Test that recipes are refused if, and only if, they contain secrets as plain text."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from datahub.ingestion.run.pipeline import Pipeline, PipelineInitError

from datahub_hyperjoin.recipe import find_literal_secrets

ROOT = Path(__file__).parents[2]


def settings(name: str, value: str) -> dict[str, Any]:
    return {"spark": {"settings": {name: value}}}


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        (
            {"connections": [{"database": {"password": "hush"}}]},
            ["connections[0].database.password"],
        ),
        ({"connections": [{"database": {"password": "${SHOP}"}}]}, []),
        ({"connections": [{"database": {"password": "$SHOP"}}]}, []),
        ({"connections": [{"database": {"password": None}}]}, []),
        ({"url": "postgresql+psycopg2://me:hush@host/shop"}, ["url"]),
        ({"url": "postgresql+psycopg2://me@host/shop"}, []),
        ({"url": "${SHOP_URL}"}, []),
        ({"url": "mysql://${USER}:hush@host/shop"}, ["url"]),
        ({"url": "mssql+pyodbc://host/shop?user=me&password=hush"}, ["url"]),
        ({"url": "mssql+pyodbc://host/shop?user=me&password=${SHOP}"}, []),
        ({"spark": {"master": "sc://host:15002/;token=hush"}}, ["spark.master"]),
        (
            settings("spark.hadoop.fs.s3a.secret.key", "hush"),
            ["spark.settings.spark.hadoop.fs.s3a.secret.key"],
        ),
        (
            settings("spark.sql.catalog.shop.url", "jdbc:postgresql://h/?password=hush"),
            ["spark.settings.spark.sql.catalog.shop.url"],
        ),
        (settings("spark.hadoop.fs.azure.account.key.me", "${KEY}"), []),
        (settings("spark.hadoop.fs.azure.sas.token.provider.type", "org.Provider"), []),
        (settings("spark.ssl.trustStorePasswordFile", "/run/secrets/trust"), []),
        ({"model": {"llm": {"api_key": "sk-1"}}}, ["model.llm.api_key"]),
        ({"catalog": {"tables": {"deny": ["password", "secret=.*"]}, "folder": "lake"}}, []),
    ],
)
def test_plain_text_is_told_from_variables(written: dict[str, Any], keys: list[str]) -> None:
    assert find_literal_secrets(written) == keys


@pytest.mark.parametrize("recipe", sorted(ROOT.glob("ingestion_recipes/*.yml")), ids=str)
def test_no_recipe_of_this_project_has_a_secret(recipe: Path) -> None:
    assert find_literal_secrets(yaml.safe_load(recipe.read_text())) == []


def recipe(tmp_path: Path, **more: object) -> dict[str, Any]:
    tmp_path.joinpath("shop.db").touch()
    database = {"url": f"sqlite:///{tmp_path}/shop.db", "password": "hush"}
    return {
        "source": {
            "type": "hyperjoin",
            "config": {"connections": [{"database": database}], **more},
        },
        "sink": {"type": "file", "config": {"filename": str(tmp_path / "joins.json")}},
    }


def create(written: dict[str, Any], **more: str) -> None:
    resolved = json.loads(json.dumps(written).replace("${SHOP}", "hush"))
    Pipeline.create({**resolved, **more}, raw_config=written)


REFUSED = r"as plain text in `connections\[0\]\.database\.password`\. Write `\$\{NAME\}` instead"


def test_a_run_with_plain_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineInitError) as caught:
        create(recipe(tmp_path))
    with pytest.raises(ValueError, match=REFUSED):
        raise caught.value.__cause__ or caught.value
    assert "hush" not in str(caught.value)


def test_a_variable_runs(tmp_path: Path) -> None:
    written = json.loads(json.dumps(recipe(tmp_path)).replace("hush", "${SHOP}"))
    create(written)


def test_what_cannot_be_told_from_a_variable_runs(tmp_path: Path) -> None:
    Pipeline.create(recipe(tmp_path))
    create(recipe(tmp_path), pipeline_name="urn:li:dataHubIngestionSource:1")
    create(recipe(tmp_path), run_id="urn:li:dataHubExecutionRequest:1")
    create(recipe(tmp_path, allow_literal_secrets=True))


def test_the_command_line_says_how_to_write_it(tmp_path: Path) -> None:
    tmp_path.joinpath("recipe.yml").write_text(yaml.safe_dump(recipe(tmp_path)))
    done = subprocess.run(
        [Path(sys.executable).with_name("datahub"), "ingest", "-c", tmp_path / "recipe.yml"],
        env={**os.environ, "DATAHUB_TELEMETRY_ENABLED": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "Write `${NAME}` instead" in done.stdout + done.stderr
    assert "hush" not in done.stdout + done.stderr
