"""Find pages in Preview tabs, and instructions for agents, that this pipeline did not write.

A dataset has one page in its Preview tab, and a column one text for agents. A run writes either
only if it is free or its own.
"""

from dataclasses import replace

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.catalog.contexts import read_contexts
from datahub_hyperjoin.catalog.embeds import read_embeds
from datahub_hyperjoin.emit import (
    EmitConfig,
    ExistingState,
    Publication,
    WrittenState,
    find_foreign_contexts,
    find_foreign_embeds,
)
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn


def read_foreign_parts(
    existing: ExistingState,
    publication: Publication,
    last: WrittenState,
    *,
    config: EmitConfig,
    graph: DataHubGraph,
) -> ExistingState:
    """Add to `existing` the Preview pages and agent instructions that others wrote.

    Also add the datasets that have an `embed` aspect.
    """
    embeds, contexts = {}, {}
    if config.embed or last.embeds:
        tables = map(dataset_urn, publication.tables if config.embed else ())
        embeds = read_embeds(graph, {*tables, *last.embeds})
    if config.ai_context or last.contexts:
        joins = publication.joins if config.ai_context else ()
        columns = {column_urn(end) for join in joins for pair in join.pairs for end in pair}
        contexts = read_contexts(graph, columns.union(last.contexts))
    return replace(
        existing,
        embedded=frozenset(embeds),
        foreign_embeds=frozenset(find_foreign_embeds(embeds, last.embeds, config.embed)),
        foreign_contexts=frozenset(find_foreign_contexts(contexts, last.contexts)),
    )
