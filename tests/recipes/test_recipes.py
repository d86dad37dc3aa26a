from pathlib import Path

import pytest
from datahub.configuration.config_loader import load_config_file
from datahub.ingestion.run.pipeline_config import PipelineConfig
from datahub.ingestion.source.source_registry import source_registry

from datahub_hyperjoin.recipe import HyperJoinConfig
from datahub_hyperjoin.source import HyperJoinSource

RECIPES = Path(__file__).parents[2] / "ingestion_recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yml")), ids=lambda path: path.name)
def test_every_recipe_validates(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE", "lake")
    monkeypatch.setenv("DATAHUB_GMS_URL", "http://localhost:8080")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("SHOP_PASSWORD", "none")
    recipe = PipelineConfig.from_dict(load_config_file(path))
    assert source_registry.get(recipe.source.type) is HyperJoinSource
    HyperJoinConfig.model_validate(recipe.source.config)


def test_every_recipe_is_in_the_table() -> None:
    table = RECIPES.joinpath("README.md").read_text()
    assert [path.name for path in RECIPES.glob("*.yml") if f"]({path.name})" not in table] == []
