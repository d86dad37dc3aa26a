"""Write instructions for AI agents that list the safe joins of each column.

DataHub has one text of instructions for each column, in the aspect `aiContext`. So it is written
only where nobody else has written it.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from typing_extensions import override

from datahub_hyperjoin.catalog.entities import fetch
from datahub_hyperjoin.catalog.versions import instructions_in
from datahub_hyperjoin.emit.documents import joins_for_agents, write_column_guides
from datahub_hyperjoin.emit.layer import Layer, Withdrawal, Writing
from datahub_hyperjoin.emit.patches import change_instructions
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.urns import AI_CONTEXT, column_urn
from datahub_hyperjoin.tables import TableId


def read_contexts(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, str]:
    """Read each column's instructions for AI agents."""
    entities = fetch(graph, "schemaField", urns, [AI_CONTEXT])
    found = {urn: aspects.get(AI_CONTEXT, (None,))[0] for urn, aspects in entities.items()}
    return {urn: text for urn, aspect in found.items() if (text := instructions_in(aspect))}


def find_foreign_contexts(contexts: Mapping[str, str], written: Mapping[str, str]) -> Iterable[str]:
    """Yield the URNs of columns whose instructions were not written by the last run."""
    return (column for column, text in contexts.items() if text != written.get(column))


def emit_contexts(
    joins: Mapping[TableId, Sequence[Join]], foreign: Container[str], written: dict[str, str]
) -> Iterator[MetadataWorkUnit]:
    """Set the instructions of columns with safe joins, unless somebody else wrote them."""
    for table, own in joins.items():
        for column, text in sorted(write_column_guides(table, own).items()):
            urn = column_urn(column)
            if urn not in foreign:
                yield change_instructions(urn, text)
                written[urn] = text


class Contexts(Layer):
    """Instructions that tell AI agents which joins of a column are safe."""

    key = "ai_context"
    needs: ClassVar = {"schemaField": (AI_CONTEXT,)}
    fields = ("contexts",)
    per_join = 1

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        unread = run.publication.unread - run.publication.described
        joins = joins_for_agents(run.publication)
        read = {table: own for table, own in joins.items() if table not in unread}
        return emit_contexts(read, run.existing.closed, run.written.contexts)

    @override
    def withdraw(self, gone: Withdrawal) -> Iterator[MetadataWorkUnit]:
        return (change_instructions(column, "") for column in gone.stale.contexts)
