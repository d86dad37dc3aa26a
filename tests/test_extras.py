"""Test that a default run needs no package of an extra, and that others name what they need."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.errors import MissingExtraError
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig, Scoring, sections
from datahub_hyperjoin.recipe import HyperJoinConfig, unmet_requirements

WITHOUT = """
import sys
for name in ("torch", "fasttext", "openai", "httpx2"):
    sys.modules[name] = None
import pandas as pd
from datahub_hyperjoin import find_joins
keys = pd.DataFrame({"code": [f"K{number}" for number in range(50)], "size": range(50)})
rows = pd.DataFrame({"code": [f"K{number % 50}" for number in range(500)]})
[join] = find_joins({"keys": keys, "rows": rows})
print(join.role.value)
"""


def test_a_default_run_needs_no_extra() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.returncode) == ("reference\n", 0), run.stderr


@pytest.mark.parametrize(
    ("model", "option", "package", "extra"),
    [
        ({"ranking": {"scoring": "blend"}}, "model.ranking.scoring: blend", "torch", "hin"),
        ({"llm": {"model": "m"}}, "model.llm", "openai", "llm"),
    ],
)
def test_a_recipe_without_its_extra_is_refused_with_the_command(
    model: dict[str, Any],
    option: str,
    package: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sections, "find_spec", lambda _: None)
    config = HyperJoinConfig.model_validate({"catalog": {"folder": "."}, "model": model})
    [error] = unmet_requirements(config, None, has_server=False)
    assert isinstance(error, MissingExtraError)
    assert str(error) == (
        f"`{option}` needs the package {package}. Install it with "
        f"`pip install 'datahub-hyperjoin[{extra}]'`"
    )


def test_find_joins_reads_no_table_for_a_network_that_it_cannot_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "find_spec", lambda _: None)
    model = ModelConfig(ranking=RankingConfig(scoring=Scoring.HIN))
    with pytest.raises(MissingExtraError, match=r"`model\.ranking\.scoring: hin` needs .* torch"):
        find_joins(tmp_path / "missing", model=model)
