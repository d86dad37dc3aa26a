"""Find composite joins, which compare several pairs of columns at once.

The steps are: search composite keys, propose references to them, verify the references on the data
and decide which of them hold. Results of earlier runs are reused.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from datahub_hyperjoin.catalog_facts import CatalogFacts, ForeignKey
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    ColumnPairs,
    CompositeEvidence,
    Evidence,
    Join,
    KeySearch,
    Role,
    Verdict,
    sort_joins,
)
from datahub_hyperjoin.metadata.relationships import catalog_evidence
from datahub_hyperjoin.model.composite import (
    MIN_PROBABILITY,
    CompositeReference,
    Proposal,
    decide,
    find_partners,
    is_one_to_one,
    propose,
)
from datahub_hyperjoin.model.config import RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.spark.profiles.routes import session_for
from datahub_hyperjoin.spark.profiles.store import Store, result_key
from datahub_hyperjoin.spark.session import OptionalSession
from datahub_hyperjoin.spark.verification.composites import verify_composites
from datahub_hyperjoin.spark.verification.key_search import search_keys
from datahub_hyperjoin.spark.verification.verify import NoteUnread, log_unread
from datahub_hyperjoin.stages.role_decisions import joinability_of
from datahub_hyperjoin.tables import Pair, Table, TableId, pair_of

_KEYS, _EVIDENCE = "composite_keys", "composite_evidence"

TableKeys = Mapping[TableId, tuple[tuple[str, ...], ...]]
"""The paths of the columns of each key, by table."""


class CompositeReader:
    """A reader of composite keys and of evidence for composite references."""

    def __init__(
        self,
        index: LakeIndex,
        tables: Sequence[Table],
        session: OptionalSession,
        store: Store,
        note_unread: NoteUnread = log_unread,
    ) -> None:
        self._texts = index.lake.texts
        self._tables = {table.id: table for table in tables}
        self._session = session
        self._config = store.config
        self._note_unread = note_unread
        self._store = store

    def keys(self, searches: Sequence[KeySearch]) -> TableKeys:
        """Search the given columns of each table for composite keys."""
        names = {
            search: result_key([self._tables[search.table]], repr(search)) for search in searches
        }
        kept = self._store.results(_KEYS)
        found = {
            search.table: tuple(map(tuple, json.loads(kept[name])))
            for search, name in names.items()
            if name in kept
        }
        changed = [search for search in searches if search.table not in found]
        tables = [self._tables[search.table] for search in changed]
        session = session_for(tables, self._session, self._config)
        read = search_keys(session, tables, changed, self._config)
        for search in changed:
            if search.table not in read:
                self._note_unread(search.table)
        found |= read
        self._store.keep_results(
            _KEYS,
            {
                name: json.dumps(found[search.table])
                for search, name in names.items()
                if search.table in found
            },
        )
        # Tables without keys are stored, too, so that they are not searched again.
        return {table: keys for table, keys in found.items() if keys}

    def evidence(self, references: Sequence[ColumnPairs]) -> dict[ColumnPairs, CompositeEvidence]:
        """Measure composite references on all rows of their tables."""
        names = {reference: self._name(reference) for reference in references}
        kept = self._store.results(_EVIDENCE)
        measured = {
            reference: _from_json(kept[name]) for reference, name in names.items() if name in kept
        }
        changed = [reference for reference in references if reference not in measured]
        ends = {
            column.table: None for reference in changed for pair in reference for column in pair
        }
        tables = [self._tables[table] for table in ends]
        measured |= verify_composites(
            session_for(tables, self._session, self._config),
            tables,
            changed,
            texts=self._texts,
            config=self._config,
            note_unread=self._note_unread,
        )
        self._store.keep_results(
            _EVIDENCE,
            {names[reference]: _to_json(evidence) for reference, evidence in measured.items()},
        )
        return measured

    def _name(self, reference: ColumnPairs) -> str:
        ends = [column.table for column in reference[0]]
        paths = repr([[column.path for column in pair] for pair in reference])
        return result_key([self._tables[table] for table in ends], paths)


def _to_json(evidence: CompositeEvidence) -> str:
    return json.dumps(asdict(evidence))


def _from_json(text: str) -> CompositeEvidence:
    fields = json.loads(text)
    # JSON has no nested classes, enumerations or tuples.
    measures = fields.pop("evidence")
    measures["cardinality"] = Cardinality(measures["cardinality"])
    fields["by_chance"] = tuple(fields["by_chance"])
    return CompositeEvidence(evidence=Evidence(**measures), **fields)


def find_composite_joins(
    index: LakeIndex, facts: CatalogFacts, *, reader: CompositeReader, ranking: RankingConfig
) -> tuple[Join, ...]:
    """Find composite joins, and verify them on the data."""
    proposals: list[Proposal] = []
    if ranking.max_key_columns > 1:
        partners = find_partners(index)
        found = reader.keys(partners.searches(ranking.max_key_columns))
        proposals = propose(partners, _with_declared_keys(found, facts, ranking.max_key_columns))
    proposals = _with_declared(proposals, index, facts)
    measured = reader.evidence([proposal.pairs for proposal in proposals])
    references = decide(proposals, measured, max(ranking.min_joinability, MIN_PROBABILITY))
    joins = [_join(reference, index, facts) for reference in references]
    return tuple(join for join in joins if join.catalog.verdict is not Verdict.REJECTED)


def with_composite_joins(joins: Sequence[Join], composites: Sequence[Join]) -> tuple[Join, ...]:
    """Merge single-column joins and composite joins, and sort them best first."""
    # A part of a composite join that joins many rows to many would lead people to the wrong rows,
    # unless they decided about it.
    parts = {pair_of(*pair) for join in composites for pair in join.pairs}
    kept = {}
    for join in joins:
        pair = (join.left, join.right)
        is_decided = bool(join.catalog.verdict or join.catalog.related)
        superfluous = join.measured.cardinality is Cardinality.MANY_MANY and not is_decided
        if not (pair in parts and superfluous):
            kept[pair] = join
    # A relationship is named by its first pair of columns, so no two joins may share it.
    named = [turned for join in composites for turned in [_led_by_other(join, kept)] if turned]
    return tuple(sort_joins([*kept.values(), *named]))


def _with_declared_keys(
    found: Mapping[TableId, tuple[tuple[str, ...], ...]], facts: CatalogFacts, max_columns: int
) -> dict[TableId, list[tuple[str, ...]]]:
    """Merge each table's declared composite keys with the composite keys found in the data."""
    keys: dict[TableId, list[tuple[str, ...]]] = {}
    for key in sorted(facts.composite_keys):
        if len(key) <= max_columns:
            keys.setdefault(key[0].table, []).append(tuple(column.path for column in key))
    for table, others in found.items():
        declared = keys.setdefault(table, [])
        same = {frozenset(key) for key in declared}
        declared += [key for key in others if frozenset(key) not in same]
    return keys


def _with_declared(
    proposals: Sequence[Proposal], index: LakeIndex, facts: CatalogFacts
) -> list[Proposal]:
    """Add declared composite foreign keys to the proposed references."""
    known = set(index.lake.ids)
    declared = {
        frozenset(key.pairs): _proposal(key)
        for key in facts.foreign_keys
        if key.is_composite and all(column in known for pair in key.pairs for column in pair)
    }
    others = [proposal for proposal in proposals if frozenset(proposal.pairs) not in declared]
    return [*declared.values(), *others]


def _proposal(key: ForeignKey) -> Proposal:
    return Proposal(pairs=tuple(sorted(key.pairs)), names=1.0, declared=key.title)


def _join(reference: CompositeReference, index: LakeIndex, facts: CatalogFacts) -> Join:
    """Convert a composite reference to a join."""
    distinct = {profile.id: profile.distinct for profile in index.lake.profiles}
    # The most distinct pair leads; one that consists of the same column twice must not.
    pairs = sorted(reference.pairs, key=lambda pair: (pair[0] == pair[1], -distinct[pair[1]], pair))
    evidence = reference.evidence.evidence
    join = Join(
        left=pairs[0][0],
        right=pairs[0][1],
        joinability=joinability_of(reference.probability),
        evidence=evidence,
        catalog=_catalog_evidence(reference, facts),
        role=Role.ONE_TO_ONE if is_one_to_one(reference) else Role.REFERENCE,
        referenced=pairs[0][1],
        further=tuple(pairs[1:]),
    )
    return _sorted(join)


def _sorted(join: Join) -> Join:
    """Swap the two sides of a join if its right column sorts before its left column."""
    if join.left <= join.right:
        return join
    return replace(
        join,
        left=join.right,
        right=join.left,
        evidence=join.measured.reversed,
        further=tuple((right, left) for left, right in join.further),
    )


def _led_by_other(join: Join, taken: Mapping[Pair, Join]) -> Join | None:
    """Reorder a composite join so that its first pair has no single-column join in `taken`."""
    for number, (left, right) in enumerate(join.pairs):
        if pair_of(left, right) not in taken and left != right:
            others = (*join.pairs[:number], *join.pairs[number + 1 :])
            referenced = right if join.referenced == join.right else left
            return _sorted(
                replace(join, left=left, right=right, referenced=referenced, further=others)
            )
    return None


def _catalog_evidence(reference: CompositeReference, facts: CatalogFacts) -> CatalogEvidence:
    """Combine the catalog evidence of all pairs in a composite reference."""
    return replace(
        catalog_evidence(reference.pairs, facts),
        declared=reference.declared,
        # A query joins all pairs only if it joins each of them.
        queries=min(facts.of(pair_of(*pair)).queries for pair in reference.pairs),
    )
