"""Read the glossary terms of columns."""

from collections.abc import Iterable
from dataclasses import dataclass

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import GlossaryTermsClass

from datahub_hyperjoin.catalog.entities import fetch

NO_RUN = "no-run-id-provided"
"""The run ID that DataHub records for writes outside of ingestion runs."""


@dataclass(frozen=True, kw_only=True)
class ColumnTerms:
    """The glossary terms of a column."""

    terms: frozenset[str]
    """URNs of the terms."""

    by_person: bool
    """Whether a person, rather than a run of a source, last changed the terms."""


def read_column_terms(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, ColumnTerms]:
    """Read the glossary terms of the given columns.

    Returns:
        Terms by URN, of the columns that have the aspect, be it empty.
    """
    found = {}
    for urn, aspects in fetch(graph, "schemaField", urns, [GlossaryTermsClass.ASPECT_NAME]).items():
        aspect, system = aspects.get(GlossaryTermsClass.ASPECT_NAME, (None, None))
        if isinstance(aspect, GlossaryTermsClass):
            found[urn] = ColumnTerms(
                terms=frozenset(term.urn for term in aspect.terms),
                by_person=system is None or (system.runId or NO_RUN) == NO_RUN,
            )
    return found
