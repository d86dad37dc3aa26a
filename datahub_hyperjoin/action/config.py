"""The configuration of the action."""

from pathlib import Path

from datahub.configuration.common import ConfigModel
from pydantic import ConfigDict, Field, ValidationError
from typing_extensions import Self

from datahub_hyperjoin.action.errors import RefusedActionError


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
