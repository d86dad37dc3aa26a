"""Which layers of metadata are written."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class EmitConfig:
    """What is written into the catalog."""

    relationships: bool = True
    """One `erModelRelationship` for each join, with its evidence: what programs read."""

    properties: bool = True
    """Structured properties on columns and datasets: what people see in DataHub's Columns tab and
    sidebar."""

    namespace: str = "io.datahub.hyperjoin"
    """What the structured properties' names begin with; change it when two instances of this
    source write into one catalog."""

    def __post_init__(self) -> None:
        """Refuse names that DataHub's server would refuse at the end of a run."""
        if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", self.namespace, re.ASCII):
            message = (
                f"`namespace` is {self.namespace!r}; it must be made of letters, digits, `_` and "
                "`-`, with dots between words"
            )
            raise ValueError(message)
