"""Errors about recipes that cannot be run."""

from collections.abc import Sequence

from datahub.ingestion.run.pipeline import PipelineInitError
from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError

_EXAMPLE = ("", "source:", "  type: hyperjoin", "  config:", "    catalog:", "      folder: ./lake")


class RefusedRecipeError(HyperJoinError, PipelineInitError, ValueError):
    """A recipe must be corrected before it can run.

    DataHub shows a `PipelineInitError` as it is, and without a traceback if the error asks for
    none.
    """

    SHOW_STACK_TRACE = False

    def __init__(self, *lines: str, faults: Sequence[str] = ()) -> None:
        """Store the lines of the message, and the faults that it lists."""
        super().__init__(*lines)
        self.faults = tuple(faults)

    @classmethod
    def because(cls, faults: Sequence[str]) -> Self:
        lines = [f"- {fault}" for fault in faults]
        return cls("Correct the recipe's `source.config`:", *lines, faults=faults)

    @classmethod
    def without_settings(cls) -> Self:
        return cls("The recipe has no `source.config`. Add the section, for example:", *_EXAMPLE)


class StateWithoutServerError(HyperJoinError, ValueError):
    """A recipe enables stateful ingestion, but has no place to store the state."""

    @classmethod
    def nowhere(cls) -> Self:
        return cls(
            "`stateful_ingestion` keeps its state in a DataHub server, and the recipe has none. "
            "Use a `datahub-rest` sink, set `datahub_api` beside `source`, or remove "
            "`stateful_ingestion`"
        )

    @classmethod
    def of_nobody(cls) -> Self:
        return cls(
            "`stateful_ingestion` keeps its state under the name of the pipeline, and the recipe "
            "has none. Set `pipeline_name` beside `source`"
        )
