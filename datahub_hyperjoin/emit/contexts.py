"""Write instructions for AI agents that list the safe joins of each column.

DataHub has one text of instructions for each column, in the aspect `aiContext`. So it is written
only where nobody else has written it.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.guide import write_column_guides
from datahub_hyperjoin.emit.patches import change_instructions
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.metadata.urns import column_urn
from datahub_hyperjoin.tables import TableId


def emit_contexts(
    joins: Mapping[TableId, Sequence[CatalogJoin]], foreign: Container[str], written: dict[str, str]
) -> Iterator[MetadataWorkUnit]:
    """Set the agent instructions of columns with safe joins, unless somebody else wrote them.

    Args:
        foreign: URNs of columns whose instructions somebody else wrote; these stay.
        written: Receives the texts by the URN of the column.

    Yields:
        A patch of each column, which keeps the other parts of the aspect.
    """
    for table, own in joins.items():
        for column, text in sorted(write_column_guides(table, own).items()):
            urn = column_urn(column)
            if urn not in foreign:
                yield change_instructions(urn, text)
                written[urn] = text


def find_foreign_contexts(contexts: Mapping[str, str], written: Mapping[str, str]) -> Iterable[str]:
    """Yield the URNs of columns whose instructions for AI agents were not written by the last run.

    Args:
        contexts: The instructions of columns that have some, by URN.
        written: The instructions that the last run wrote, by URN.
    """
    return (column for column, text in contexts.items() if text != written.get(column))
