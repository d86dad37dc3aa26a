"""Recipe keys that choose which layers of metadata are written."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class EmitConfig:
    """Layers of metadata that are written into DataHub."""

    relationships: bool = True
    """Whether each join is written as an `erModelRelationship`, with its evidence. Programs read
    joins from this layer."""

    properties: bool = True
    """Whether joins are written as structured properties of columns and datasets. People see them
    in the Columns tab and the sidebar of a dataset."""

    queries: bool = False
    """Whether each join is written as a `query` whose SQL runs on the tables' platform. DataHub
    shows it under the Highlighted Queries of both datasets."""

    lineage: bool = False
    """Whether each join is written as lineage between its columns, from the unique column to the
    one that refers to it. Impact analysis and lineage search then follow suggested joins like data
    flows, so they reach tables without a data flow between them."""

    namespace: str = "io.datahub.hyperjoin"
    """Prefix of the structured properties' names. Change it if two pipelines of this source write
    into one catalog."""

    def __post_init__(self) -> None:
        """Reject a namespace that DataHub's server would reject at the end of a run."""
        if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", self.namespace, re.ASCII):
            message = (
                f"`namespace` is {self.namespace!r}; use words of letters, digits, `_` and `-`, "
                "separated by dots"
            )
            raise ValueError(message)
