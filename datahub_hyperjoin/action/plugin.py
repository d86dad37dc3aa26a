"""The action `hyperjoin`, which runs in DataHub's Actions framework."""

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from datahub.configuration.common import ConfigModel, ConfigurationError
from datahub.configuration.config_loader import load_config_file
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.run.pipeline import Pipeline
from datahub.metadata.schema_classes import (
    MetadataChangeProposalClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
    SystemMetadataClass,
)
from datahub_actions.action.action import Action
from datahub_actions.event.event_envelope import EventEnvelope
from datahub_actions.pipeline.pipeline_context import PipelineContext
from pydantic import ConfigDict, Field, ValidationError
from typing_extensions import Self

from datahub_hyperjoin.action.errors import (
    MalformedEventError,
    RefusedActionError,
    UnrecordedRemovalError,
)
from datahub_hyperjoin.action.events import ChangeDetector, Removal
from datahub_hyperjoin.client_errors import translate_errors, translate_malformed
from datahub_hyperjoin.emit.patches import assign_property
from datahub_hyperjoin.metadata.urns import REJECTED_JOINS, property_urn
from datahub_hyperjoin.model.config import Scoring
from datahub_hyperjoin.model.saved.files import holds_model
from datahub_hyperjoin.recipe import HyperJoinConfig, read_recipe
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.visible import logger_of, redact

logger = logger_of(__name__)

_RAW = "__raw_config"
_MAX_TRIES = 5
RUN_ID = "hyperjoin-action"
"""The run ID of the action's own writes, which distinguishes them from a person's changes."""


class ActionConfig(ConfigModel):
    """The section `action.config` of an action's configuration file."""

    model_config = ConfigDict(
        extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True
    )

    recipe: Path
    """The recipe that `datahub ingest` runs on schedule."""

    wait_seconds: float = Field(default=2, ge=0, le=3600, allow_inf_nan=False)
    """Seconds to wait after a change for further changes, so that a single run handles them all."""

    retry_seconds: float = Field(default=60, ge=0, le=86_400, allow_inf_nan=False)
    """Seconds until a failed run is repeated. A run fails, for example, while `datahub ingest` uses
    the same store."""

    @classmethod
    def read(cls, written: object) -> Self:
        """Parse and validate the section `action.config`."""
        try:
            return cls.model_validate({} if written is None else written)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            named = [
                f"`{'.'.join(map(str, fault['loc'])) or 'action.config'}`: {fault['msg']}"
                for fault in faults
            ]
            raise RefusedActionError.because(named) from error


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
            copy.deepcopy(self.recipe), no_progress=True, raw_config=copy.deepcopy(self.raw)
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


class CoalescedRuns:
    """A thread that collects changes for a while, then runs a function once for all of them.

    All changes within a waiting time share a run. A change during a run causes one further run,
    since that run may have read the catalog before.
    """

    def __init__(self, run: Callable[[], bool], *, wait: float, retry: float) -> None:
        self._run, self._wait, self._retry = run, wait, retry
        self._due: float | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="hyperjoin-action", daemon=True)
        self._thread.start()

    def schedule(self) -> None:
        """Schedule a run after a change, unless a run is already scheduled."""
        with self._changed:
            if self._due is None:
                self._due = time.monotonic() + self._wait
                self._changed.notify()

    def close(self) -> None:
        """End the thread; if changes are pending, run the function once more first."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        tries = 0
        while self._next():
            tries = 0 if self._run() else tries + 1
            if tries == _MAX_TRIES:
                logger.error("The changes wait for the next event or `datahub ingest`")
                tries = 0
            elif tries:
                self._repeat()

    def _next(self) -> bool:
        """Wait until a run is due; return False if the thread should end instead."""
        with self._changed:
            while not self._closed and (self._due is None or time.monotonic() < self._due):
                left = None if self._due is None else self._due - time.monotonic()
                self._changed.wait(left)
            due, self._due = self._due, None
            return due is not None

    def _repeat(self) -> None:
        with self._changed:
            if not self._closed and self._due is None:
                self._due = time.monotonic() + self._retry


def record_removal(graph: DataHubGraph, removal: Removal, namespace: str) -> bool:
    """Add removed suggestions to a column's property *Rejected joins*; return whether it changed.

    Every later run reads them there, and takes the entries of the other columns back. Nothing is
    written if somebody deleted the whole property, with which DataHub removes its values from all
    columns.
    """

    def fail(reason: str) -> UnrecordedRemovalError:
        return UnrecordedRemovalError.of_column(removal.urn, reason)

    with translate_malformed(fail), translate_errors(graph, lambda _, reason: fail(reason)):
        if not _is_defined(graph, removal.definition):
            return False
        rejected = property_urn(namespace, REJECTED_JOINS)
        own = graph.get_aspect(removal.urn, StructuredPropertiesClass)
        assigned = {one.propertyUrn: one for one in own.properties} if own else {}
        before = assigned.get(rejected)
        values = list(before.values) if before else []
        new = [partner for partner in removal.partners if partner not in values]
        if new:
            stamp = removal.stamp
            assignment = StructuredPropertyValueAssignmentClass(
                propertyUrn=rejected,
                values=[*values, *new],
                created=before.created if before else stamp,
                lastModified=stamp,
            )
            proposal = assign_property(removal.urn, assignment).metadata
            assert isinstance(proposal, MetadataChangeProposalClass)  # noqa: S101 - a patch is one
            proposal.systemMetadata = SystemMetadataClass(runId=RUN_ID)
            graph.emit_mcp(proposal)
        return bool(new)


def _is_defined(graph: DataHubGraph, definition: str) -> bool:
    status = graph.get_aspect(definition, StatusClass)
    exists = graph.get_aspect(definition, StructuredPropertyDefinitionClass) is not None
    return exists and not (status and status.removed)


class HyperJoinAction(Action):  # type: ignore[misc] # the framework has no types
    """The DataHub Action that applies decisions and finds joins for new tables within seconds.

    What only an event tells is recorded in the catalog before the event is acknowledged. All else
    is in the catalog already, so a lost or repeated event does no harm.
    """

    def __init__(
        self, config: ActionConfig, ingestion: QuickIngestion, graph: DataHubGraph
    ) -> None:
        self._graph = graph
        scope = ingestion.config.scope
        self._detector = ChangeDetector(instances=scope.instances, namespace=scope.namespace)
        self._runs = CoalescedRuns(
            ingestion.run, wait=config.wait_seconds, retry=config.retry_seconds
        )

    @classmethod
    def create(cls, config_dict: dict[str, object], ctx: PipelineContext) -> Self:
        """Create the action from its configuration."""
        config = ActionConfig.read(config_dict)
        if ctx.graph is None:
            raise RefusedActionError.without_server()
        return cls(config, QuickIngestion.of(config.recipe), ctx.graph.graph)

    def act(self, event: EventEnvelope) -> None:
        """Record removed suggestions as rejected, and schedule a run if joins may change."""
        try:
            with translate_malformed(MalformedEventError.because):
                change = self._detector.detect(event.event)
        except MalformedEventError as error:
            logger.warning("An event was skipped: %s (%r)", error, error.__cause__)
            return
        if change is None or (
            isinstance(change, Removal)
            and not record_removal(self._graph, change, self._detector.namespace)
        ):
            return
        logger.info("DataHub reports a change of %s", change.urn)
        self._runs.schedule()

    def close(self) -> None:
        """Stop the action; if changes are pending, run the recipe once more first."""
        self._runs.close()
