"""Which layers of metadata are written."""

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
