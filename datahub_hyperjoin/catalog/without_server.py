"""Build the `Catalog` of a run that has no DataHub server."""

from collections.abc import Sequence

from datahub_hyperjoin.catalog.assemble import assemble_facts
from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.filed_decisions import find_decided_columns, joins_decided
from datahub_hyperjoin.catalog.merged_decisions import merge_decisions
from datahub_hyperjoin.decision_file import WrittenDecision
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import Table


def build_catalog_without_server(
    tables: Sequence[Table], decisions: Sequence[WrittenDecision], warn: Warn
) -> Catalog:
    """Build a `Catalog` from the tables of a run and the recipe's file of decisions.

    Args:
        warn: Receives contradictions, and the tables that the run does not know.
    """
    filed = find_decided_columns(decisions, {table.id: table.id for table in tables}, warn)
    facts = assemble_facts(datasets=(), decisions=merge_decisions(joins_decided(filed), warn))
    return Catalog(tables=tables, facts=facts, filed=filed)
