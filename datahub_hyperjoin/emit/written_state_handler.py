"""Load the written state of the last run, and store the written state of this run."""

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.ingestion_job_checkpointing_provider_base import JobId
from datahub.ingestion.source.state.checkpoint import Checkpoint
from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StatefulStaleMetadataRemovalConfig,
)
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfig,
    StateProviderWrapper,
)
from datahub.ingestion.source.state.use_case_handler import StatefulIngestionUsecaseHandlerBase

from datahub_hyperjoin.emit.written_state import JOB, WrittenState


class WrittenStateHandler(StatefulIngestionUsecaseHandlerBase[WrittenState]):
    """Loads the last run's written state, and stores this run's written state.

    Args:
        state: The source's `state_provider`.
        ctx: The run's context.
    """

    def __init__(self, state: StateProviderWrapper, ctx: PipelineContext) -> None:
        self._state, self._ctx = state, ctx
        state.register_stateful_ingestion_usecase_handler(self)

    @property
    def job_id(self) -> JobId:
        """The name under which DataHub stores the checkpoint of the written state.

        DataHub's own removal of stale entities has another checkpoint.
        """
        return JOB

    @property
    def _config(self) -> StatefulIngestionConfig | None:
        return self._state.stateful_ingestion_config

    @property
    def removal(self) -> StatefulStaleMetadataRemovalConfig | None:
        """The settings for removing outdated metadata; None if removal is off."""
        config = self._config
        if not isinstance(config, StatefulStaleMetadataRemovalConfig):
            return None
        allowed = self.is_checkpointing_enabled() and config.remove_stale_metadata
        return config if allowed else None

    def is_checkpointing_enabled(self) -> bool:
        """Return whether stateful ingestion is enabled.

        Returns:
            The recipe's setting; by default, whether there are a server and a pipeline name.
        """
        return self._state.is_stateful_ingestion_configured()

    def create_checkpoint(self) -> Checkpoint[WrittenState] | None:
        """Create a checkpoint with an empty state for this run.

        Returns:
            None if the state of this run is not stored.
        """
        config, pipeline = self._config, self._ctx.pipeline_name
        if not self.is_checkpointing_enabled() or not config or not pipeline:
            return None
        if config.ignore_new_state:
            return None
        return Checkpoint(
            job_name=self.job_id,
            pipeline_name=pipeline,
            run_id=self._ctx.run_id,
            state=WrittenState(),
        )

    def last(self) -> WrittenState | None:
        """Load the state that the last run wrote.

        Returns:
            None if there was no run, or if the recipe ignores its state.
        """
        checkpoint = self._state.get_last_checkpoint(self.job_id, WrittenState)
        return checkpoint.state if checkpoint else None

    def current(self) -> WrittenState | None:
        """Return the state of this run, which the handler will store.

        Returns:
            None if the run stores no state.
        """
        checkpoint = self._state.get_current_checkpoint(self.job_id)
        return checkpoint.state if checkpoint else None

    def store(self, written: WrittenState) -> None:
        """Store the written state of this run.

        A run that does not call this method keeps the last state.

        Args:
            written: The state.
        """
        checkpoint = self._state.get_current_checkpoint(self.job_id)
        if checkpoint:
            checkpoint.state = written
