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

    queries: bool = False
    """One `query` for each join, with SQL that runs on the tables' platform: what DataHub shows
    under a dataset's Highlighted Queries."""

    lineage: bool = False
    """Lineage between the columns of a join, from the unique one to those that refer to it. Impact
    analysis and lineage search then treat suggested joins like data flows, so they reach tables
    that no data flows to."""

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
