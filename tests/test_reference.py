"""Test that the reference of recipe keys and their JSON schema match the configuration."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from datahub_hyperjoin.recipe import recipe_keys

ROOT = Path(__file__).parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "docs" / "recipe.schema.json").read_text(encoding="utf-8"))
RECIPES = sorted((ROOT / "ingestion_recipes").glob("*.yml"))


def faults(config: dict[str, Any]) -> list[str]:
    """Return what an editor reports about a recipe with these settings."""
    recipe = {"source": {"type": "hyperjoin", "config": config}}
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(recipe)]


def test_the_files_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / ".ci" / "reference.py", tmp_path], check=True)
    for written in tmp_path.iterdir():
        kept = (ROOT / "docs" / written.name).read_text(encoding="utf-8")
        assert kept == written.read_text(encoding="utf-8"), "run `make reference`"


def test_every_key_has_a_row_with_its_effect() -> None:
    rows = re.findall(r"^\| `(\w+)` \| \S[^|]* \|[^|]*\| \S", REFERENCE, flags=re.MULTILINE)
    assert {key.rpartition(".")[2] for key in recipe_keys()} <= set(rows)
    assert len(re.findall(r"^\| `", REFERENCE, flags=re.MULTILINE)) == len(rows)


def test_a_row_has_type_limits_and_default() -> None:
    assert "| `top_k` | integer from 1 to 1,000,000 | `5` | Maximum number of" in REFERENCE
    assert "| `reuse` | `exact`, `always`, `never` | `exact` |" in REFERENCE
    assert "| `timeout` | number above 0 to 604,800 | `60.0` |" in REFERENCE
    assert "| `url` | text, secret | required |" in REFERENCE
    assert "| `tables` | [section](#catalogtables) |  |" in REFERENCE


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_an_editor_accepts_every_recipe(recipe: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(yaml.safe_load(recipe.read_text(encoding="utf-8")))


def test_an_editor_accepts_short_forms_and_variables() -> None:
    ranking = {"top_k": "${TOP_K:-5}", "scoring": "${SCORING}"}
    emit = {"lineage": True, "queries": "${QUERIES}"}
    assert faults({"catalog": "datahub", "model": {"ranking": ranking}, "emit": emit}) == []


def test_an_editor_reports_unknown_keys_and_values_out_of_bounds() -> None:
    (unknown,) = faults({"catalog": {"foler": "lake"}})
    assert "foler" in unknown
    (below,) = faults({"profile": {"max_rows": 0}})
    assert "0" in below
