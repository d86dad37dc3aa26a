"""Find the glossary terms of joinable columns, and the terms that people removed from columns."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.catalog.column_terms import read_column_terms
from datahub_hyperjoin.emit import Publication, WrittenState
from datahub_hyperjoin.emit.terms import Glossary, find_terms, is_own_term
from datahub_hyperjoin.metadata.urns import column_urn


def read_glossary(
    publication: Publication,
    last: WrittenState,
    others: Iterable[WrittenState],
    graph: DataHubGraph,
    namespace: str,
) -> Glossary:
    """Find the glossary terms of joinable columns, and the terms that people removed from columns.

    A term was removed by a person if an earlier run added it, it is gone, and no ingestion changed
    the terms of the column since. A term that is back is no longer removed.
    """
    known: dict[str, set[str]] = defaultdict(set)
    for state in (last, *others):
        for term, written in (*state.terms.items(), *state.removed_terms.items()):
            known[term].update(written)
    ends = (column for join in publication.joins for pair in join.pairs for column in pair)
    members = {*map(column_urn, ends)}.union(*known.values())
    present = read_column_terms(graph, sorted(members))
    removed = {
        term: {
            column
            for column in columns & present.keys()
            if term not in present[column].terms
            and (present[column].by_person or column in last.removed_terms.get(term, ()))
        }
        for term, columns in known.items()
    }
    for column, own in present.items():
        for term in filter(partial(is_own_term, namespace=namespace), own.terms):
            known[term].add(column)
    found = find_terms(publication.joins, known, namespace)
    return replace(
        found,
        removed={term: gone for term, gone in removed.items() if gone},
        termed=frozenset(present),
    )
