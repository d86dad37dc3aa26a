"""Run a recipe as `datahub ingest` does, but train no model and skip unchanged tables."""

import copy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from datahub.configuration.common import ConfigurationError
from datahub.configuration.config_loader import load_config_file
from datahub.ingestion.run.pipeline import Pipeline
from typing_extensions import Self

from datahub_hyperjoin.action.errors import RefusedActionError
from datahub_hyperjoin.model.config import Scoring
from datahub_hyperjoin.model.saved.files import holds_model
from datahub_hyperjoin.recipe import read_recipe
from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.redact import redact
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_RAW = "__raw_config"


@dataclass(frozen=True, repr=False)
class QuickIngestion:
    """An ingestion that runs a recipe, but trains no model and reads only new or changed tables."""

    config: HyperJoinConfig
    """The recipe's `source.config`."""

    recipe: dict[str, Any]
    """The whole recipe, with variables replaced: it may contain secrets."""

    raw: dict[str, Any]
    """The recipe as it is written."""

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a recipe, and check that the action can run it."""
        recipe = _load(path)
        raw = recipe.pop(_RAW)
        source, sink = recipe.get("source") or {}, recipe.get("sink") or {}
        if source.get("type") != "hyperjoin":
            raise RefusedActionError.of_another_source(str(path), str(source.get("type")))
        if sink.get("type", "datahub-rest") != "datahub-rest":
            raise RefusedActionError.without_server_in_recipe(str(path))
        config = read_recipe(source.get("config"))
        if config.profile.store is None:
            raise RefusedActionError.without_store(str(path))
        model = config.model
        if model.ranking.scoring is not Scoring.SIGNALS:
            if not (model.path and holds_model(model.path)):
                raise RefusedActionError.without_model(str(path))
            source["config"].setdefault("model", {})["reuse"] = "always"
        return cls(config=config, recipe=recipe, raw=raw)

    def run(self) -> bool:
        """Run the recipe, log the result, and return whether the run succeeded."""
        try:
            failed = self._ingest()
        except Exception as error:  # noqa: BLE001 - whatever ends a run, the action goes on
            failed = redact(f"{type(error).__name__}: {error}", self._token)
        if failed:
            logger.error("The joins were not updated: %s", failed)
        return not failed

    @property
    def _token(self) -> str | None:
        return ((self.recipe.get("sink") or {}).get("config") or {}).get("token")

    def _ingest(self) -> str:
        """Run the recipe, and return why the run failed; empty if it succeeded."""
        started = time.perf_counter()
        pipeline = Pipeline.create(
            copy.deepcopy(self.recipe),
            no_progress=True,
            raw_config=copy.deepcopy(self.raw),
        )
        pipeline.run()
        report = pipeline.source.get_report()
        if failures := [*report.failures, *pipeline.sink.get_report().failures]:
            return redact("; ".join(map(str, failures)), self._token)
        if isinstance(report, HyperJoinReport):
            logger.info(
                "The joins were updated in %.1f seconds; %d tables were read again, %d were not",
                time.perf_counter() - started,
                report.tables_profiled + report.tables_skipped - report.tables_from_profile_store,
                report.tables_from_profile_store,
            )
        return ""


def _load(path: Path) -> dict[str, Any]:
    try:
        return load_config_file(
            path, squirrel_original_config=True, squirrel_field=_RAW, resolve_env_vars=True
        )
    except yaml.MarkedYAMLError as error:
        # The error's text quotes the line, which may contain a secret.
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise RefusedActionError.unreadable_recipe(str(path), f"no YAML{line}") from None
    except (ConfigurationError, OSError, ValueError) as error:
        reason = redact(str(error))
        raise RefusedActionError.unreadable_recipe(str(path), reason) from error
