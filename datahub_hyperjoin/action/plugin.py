"""The action `hyperjoin`, which runs in DataHub's Actions framework."""

from datahub.ingestion.graph.client import DataHubGraph
from datahub_actions.action.action import Action
from datahub_actions.event.event_envelope import EventEnvelope
from datahub_actions.pipeline.pipeline_context import PipelineContext
from typing_extensions import Self

from datahub_hyperjoin.action.coalesce import CoalescedRuns
from datahub_hyperjoin.action.config import ActionConfig
from datahub_hyperjoin.action.errors import MalformedEventError, RefusedActionError
from datahub_hyperjoin.action.events import CatalogChange, ChangeDetector, Removal
from datahub_hyperjoin.action.ingestion import QuickIngestion
from datahub_hyperjoin.action.removals import record_removal
from datahub_hyperjoin.client_errors import translate_malformed
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


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
        """Record removed suggestions as rejected, and schedule a run if joins may change.

        A malformed event is a warning.
        """
        try:
            with translate_malformed(MalformedEventError.because):
                change = self._detector.detect(event.event)
        except MalformedEventError as error:
            logger.warning("An event was skipped: %s (%r)", error, error.__cause__)
            return
        match change:
            case Removal():
                if not record_removal(self._graph, change, self._detector.namespace):
                    return
            case CatalogChange():
                pass
            case None:
                return
        logger.info("DataHub reports a change of %s", change.urn)
        self._runs.schedule()

    def close(self) -> None:
        """Stop the action; if changes are pending, run the recipe once more first."""
        self._runs.close()
