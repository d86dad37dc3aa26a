"""Find composite references, in which several columns together refer to a key.

Every part of such a reference is contained in the column that it refers to, and neither column
identifies a row by itself. Three facts speak for it: its tuples are contained in a unique set of
columns, far fewer would be if the columns had nothing to do with each other, and the names of the
columns agree.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log2

import numpy as np

from datahub_hyperjoin.joins import (
    MIN_TUPLE_CONTAINMENT,
    Cardinality,
    ColumnPairs,
    CompositeEvidence,
    KeySearch,
)
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import LONGEST_KEY, Lake
from datahub_hyperjoin.model.signals.pairs import PairFloats, PairInts, PairMask, number_pairs
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, TableId

_MAX_MISSING = 0.1
"""Maximum share of a referring column's values that the referenced column may lack; one missing
value is always allowed. In a composite reference, each column of the key contains the values of its
counterpart, except for errors in the data and the estimate."""
_SPECIFIC, _SPECIFICITY = 20, 0.9
"""Shared values suggest that two columns correspond, if the referring column has at least
`_SPECIFIC` distinct values. The maximum similarity by values is `_SPECIFICITY`; equal names give 1.
"""
_MIN_COMPLETENESS = 0.99
"""Minimum share of rows with a value in each column of a key: a primary key has no nulls."""
_MAX_UNIQUENESS = 0.98
"""A column with a greater share of distinct values is taken to identify a row by itself. The share
is an estimate for columns with more distinct values than a sketch holds."""
_SEARCHED = 8
"""Maximum number of columns per table in the search for composite keys. Eight columns have 154
subsets of two to four columns."""
_TYPES = frozenset({DataType.INTEGER, DataType.TEXT, DataType.DATE, DataType.TIMESTAMP})
"""Data types that columns of a composite key may have; decimals and booleans are excluded."""


@dataclass(frozen=True)
class ColumnPartners:
    """Column pairs in which one column contains nearly all values of the other."""

    lake: Lake
    # For each pair, the column whose values are contained in the other column.
    referring: PairInts
    # The column of each pair that contains the values of the other column.
    referenced: PairInts
    # The greater of two measures in [0, 1]: the similarity of the names, and the share of values
    # that only columns of this domain contain.
    similarity: PairFloats

    def by_tables(self, referenced: Collection[int]) -> list[tuple[int, tuple[int, ...]]]:
        """Return the column pairs that refer to given tables, grouped by their two tables."""
        table_of = self.lake.table_of
        wanted = np.flatnonzero(np.isin(table_of[self.referenced], [*referenced]))
        ends = table_of[self.referring[wanted]].tolist(), table_of[self.referenced[wanted]].tolist()
        grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
        for pair, *key in zip(wanted.tolist(), *ends, strict=True):
            grouped[key[0], key[1]].append(pair)
        return [(key, tuple(pairs)) for (_, key), pairs in grouped.items()]

    def searches(self, max_columns: int = 4) -> list[KeySearch]:
        """For each referenced table, choose the columns to combine into possible composite keys."""
        best, standing = np.zeros(len(self.lake)), self.lake.standing
        np.maximum.at(best, self.referenced, self.similarity)
        members: dict[int, set[int]] = defaultdict(set)
        for column in np.unique(self.referenced).tolist():
            members[int(self.lake.table_of[column])].add(column)
        return [
            self._search(
                sorted(columns, key=lambda column: (-best[column], standing[column]))[:_SEARCHED],
                max_columns,
            )
            for columns in members.values()
        ]

    def _search(self, columns: Iterable[int], max_columns: int) -> KeySearch:
        chosen = sorted(columns)
        lake, paths = self.lake, self.lake.paths
        return KeySearch(
            table=lake.ids[chosen[0]].table,
            columns=tuple(paths[column] for column in chosen),
            texts=tuple(paths[column] for column in chosen if lake.ids[column] in lake.texts),
            max_columns=max_columns,
        )


def find_partners(index: LakeIndex) -> ColumnPartners:
    """Find column pairs that may belong to composite references."""
    lake, overlap = index.lake, index.overlap
    refers = lake.mask(_may_refer)
    is_referenced = refers & lake.mask(_may_be_part)
    left, right = overlap.left, overlap.right
    distinct = lake.distinct
    # Rounded, because a share of 4/5 of 5 values lacks a little more than one.
    missing = np.round((1 - overlap.containment) * distinct[left], 4)
    fits: PairMask = (
        (missing <= np.maximum(_MAX_MISSING * distinct[left], 1.0))
        & (overlap.shared > 1)
        & refers[left]
        & is_referenced[right]
        & (lake.is_text[left] == lake.is_text[right])
    )
    chosen = np.flatnonzero(fits)
    # A column that identifies rows and holds all values of the other is a key of its own.
    is_key = lake.mask(lambda profile: profile.uniqueness > _MAX_UNIQUENESS)
    back = overlap.look_up(overlap.containment, right[chosen], left[chosen])
    chosen = chosen[~(is_key[left[chosen]] & (back >= 1 - _MAX_MISSING))]
    several = _have_several(lake, left[chosen], right[chosen])
    several &= _have_several(lake, right[chosen], left[chosen])
    chosen = chosen[several]
    left, right = left[chosen], right[chosen]
    # Few values are soon held by any column, so that only many of them mark a domain.
    is_specific = distinct[left] >= _SPECIFIC
    specific = np.where(is_specific, _SPECIFICITY * overlap.beyond_chance[chosen], 0.0)
    return ColumnPartners(
        lake=lake,
        referring=left,
        referenced=right,
        similarity=np.maximum(index.names.of(left, right), specific),
    )


def _have_several(lake: Lake, left: PairInts, right: PairInts) -> PairMask:
    """Mark each pair if several columns of the left table have partners in the right table."""
    count = len(lake.titles)
    # The left column determines the left table.
    ends = np.unique(number_pairs(left, lake.table_of[right], count))
    tables = number_pairs(lake.table_of[left], lake.table_of[right], count)
    seen, times = np.unique(lake.table_of[ends // count] * count + ends % count, return_counts=True)
    return np.isin(tables, seen[times > 1])


def _may_refer(profile: ColumnProfile) -> bool:
    """Return whether a column may refer to a composite key."""
    return profile.type in _TYPES and profile.distinct > 1 and profile.lengths.mean <= LONGEST_KEY


def _may_be_part(profile: ColumnProfile) -> bool:
    """Return whether a column that may refer to composite keys may also be part of one."""
    is_complete = profile.completeness >= _MIN_COMPLETENESS
    return is_complete and profile.uniqueness <= _MAX_UNIQUENESS


def table_index(lake: Lake) -> dict[TableId, int]:
    """Map each table's identifier to the table's index in the lake."""
    return {table: index for index, table in enumerate(lake.tables) if table}


Keys = Mapping[TableId, Sequence[tuple[str, ...]]]
"""The composite keys of each table, the most reliable first."""

_PARTNERS = 4
"""Maximum number of referring columns that are tried for each column of a key."""
_PER_TABLES = 5
"""Maximum number of proposals for two tables: several references may lead to one key."""
_PER_TABLE = 3
"""Mean number of proposals for each table of the lake, which bounds the time of verification."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A proposed reference from several columns to a composite key."""

    pairs: ColumnPairs  # the referring and the referenced columns, in the order of the key
    names: float  # lowest similarity between the names of any of the column pairs, in [0, 1]
    # Similarity of the two names in a column pair, averaged over all pairs, in [0, 1].
    mean_names: float = 1.0
    rank: int = 0  # rank of the key among the keys of its table, from 0
    declared: str = ""  # name of the foreign key that declares the reference; empty if none does


def propose(partners: ColumnPartners, keys: Keys) -> list[Proposal]:
    """For each composite key, propose references from columns of other tables."""
    tables = table_index(partners.lake)
    with_keys = {tables[table]: found for table, found in keys.items() if table in tables}
    proposals: list[Proposal] = []
    for referenced, pairs in partners.by_tables(with_keys.keys()):
        found = sorted(_of_tables(partners, pairs, with_keys[referenced]), key=_order)
        proposals += found[:_PER_TABLES]
    return sorted(proposals, key=_order)[: _PER_TABLE * len(tables)]


def _order(proposal: Proposal) -> tuple[float, int, int, ColumnPairs]:
    return -proposal.mean_names, len(proposal.pairs), proposal.rank, proposal.pairs


def _of_tables(
    partners: ColumnPartners, pairs: Sequence[int], keys: Sequence[tuple[str, ...]]
) -> Iterator[Proposal]:
    """Yield the possible composite references from one table to another."""
    ids = partners.lake.ids
    of_path: dict[str, list[int]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda pair: -partners.similarity[pair]):
        choices = of_path[ids[partners.referenced[pair]].path]
        if len(choices) < _PARTNERS:
            choices.append(pair)
    for rank, key in enumerate(keys):
        for chosen in product(*(of_path.get(path, []) for path in key)):
            if len({int(partners.referring[pair]) for pair in chosen}) == len(key):
                similarity = partners.similarity[[*chosen]]
                yield Proposal(
                    pairs=tuple(
                        (ids[partners.referring[pair]], ids[partners.referenced[pair]])
                        for pair in chosen
                    ),
                    names=float(similarity.min()),
                    mean_names=float(similarity.mean()),
                    rank=rank,
                )


MIN_PROBABILITY = 0.5
"""Minimum probability of a reference that is shown."""

_BIAS, _NAMES, _BITS = -4.0, 5.0, 1 / 12
"""Parts of a reference's log-odds: a constant, an increase for equal names in every column, and an
increase for each bit of evidence against chance. Equal names alone suffice, and so do 48 bits."""
_MAX_BITS = 60.0
"""Maximum evidence against chance, in bits; more is ignored. At this maximum, the match is surely
no accident, but the key may still be the wrong one."""
_MISSING = 40.0
"""Decrease of the log-odds if all tuples lack a partner; proportionally less if only some do."""
_DECLARED = 0.9
"""Probability of a reference that a foreign key declares, whatever the data says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeReference:
    """A reference from several columns of one table to a key of another table."""

    pairs: ColumnPairs  # the referring and the referenced columns
    evidence: CompositeEvidence  # the evidence for the reference, measured on the data
    probability: float  # probability that the columns refer to the key, in [0, 1]
    declared: str  # name of the foreign key that declares the reference; empty if none does
    rank: int  # rank of the key among the keys of its table, from 0

    @property
    def key(self) -> tuple[ColumnId, ...]:
        """The referenced columns."""
        return tuple(referenced for _, referenced in self.pairs)

    @property
    def tables(self) -> tuple[TableId, TableId]:
        """The referring table and the referenced table."""
        referring, referenced = self.pairs[0]
        return referring.table, referenced.table


def bits_against_chance(evidence: CompositeEvidence) -> float:
    """Compute the evidence, in bits, that a reference's matches are not due to chance."""
    # The logarithm of the likelihood ratio of the measured share of matches and of the share after
    # one column was shuffled, for the column that matters least.
    matched, shuffled = evidence.matched, max(evidence.by_chance, default=1.0)
    # Five tuples without a match do not show that matches are impossible (Laplace's rule).
    chance = (shuffled * evidence.tuples + 1) / (evidence.tuples + 2)
    if matched <= chance:
        return 0.0
    gain = matched * log2(matched / chance)
    if matched < 1:
        gain += (1 - matched) * log2((1 - matched) / (1 - chance))
    return evidence.tuples * gain


def probability_of(proposal: Proposal, evidence: CompositeEvidence) -> float:
    """Compute the probability that a proposed reference is real."""
    measured = 0.0
    if evidence.is_unique and evidence.evidence.left_containment >= MIN_TUPLE_CONTAINMENT:
        bits = min(bits_against_chance(evidence), _MAX_BITS)
        missing = 1 - evidence.evidence.left_containment
        odds = _BIAS + _NAMES * proposal.names + _BITS * bits - _MISSING * missing
        measured = 1 / (1 + exp(-odds))
    return 1 - (1 - measured) * (1 - _DECLARED) if proposal.declared else measured


def decide(
    proposals: Sequence[Proposal],
    measured: Mapping[ColumnPairs, CompositeEvidence],
    min_probability: float = MIN_PROBABILITY,
) -> list[CompositeReference]:
    """Choose the proposed references that are probably real."""
    # Two tables refer to each other through one key, except for declared references. Columns refer
    # to one key: of several that contain them, the one that most other columns refer to.
    known = (each for each in proposals if each.pairs in measured)
    probable = [
        reference
        for reference in (_reference(each, measured[each.pairs]) for each in known)
        if reference.evidence.evidence.shared
        and (reference.probability >= min_probability or reference.declared)
    ]
    popularity = Counter(reference.key for reference in probable)

    def order(reference: CompositeReference) -> tuple[object, ...]:
        return (
            not reference.declared,
            # Rounded, so that small differences leave the choice to the facts below.
            -round(reference.probability, 1),
            -popularity[reference.key],
            reference.rank,
            -reference.evidence.evidence.left_containment,
            reference.evidence.evidence.right_containment,
            reference.pairs,
        )

    chosen = _without_rivals(sorted(probable, key=order))
    return sorted(chosen, key=lambda reference: (-reference.probability, reference.pairs))


def _reference(proposal: Proposal, evidence: CompositeEvidence) -> CompositeReference:
    return CompositeReference(
        pairs=proposal.pairs,
        evidence=evidence,
        probability=probability_of(proposal, evidence),
        declared=proposal.declared,
        rank=proposal.rank,
    )


def _without_rivals(references: Sequence[CompositeReference]) -> list[CompositeReference]:
    """Drop each reference that conflicts with an earlier reference in the list."""
    # Of the best-first list. Two references conflict if they have the same referring columns, have
    # the same column pairs, lead from one table to different keys of another, or join two tables
    # one to one in opposite directions: each row of a copy has its row in the original already. A
    # declared reference is dropped only if an earlier one has the same column pairs.
    kept: list[CompositeReference] = []
    keys: dict[tuple[TableId, TableId], tuple[ColumnId, ...]] = {}
    referring: set[frozenset[ColumnId]] = set()
    joined: set[frozenset[frozenset[ColumnId]]] = set()
    extensions: set[tuple[TableId, TableId]] = set()
    for reference in references:
        columns = frozenset(column for column, _ in reference.pairs)
        join = frozenset(map(frozenset, reference.pairs))
        is_rival = (
            columns in referring
            or keys.get(reference.tables, reference.key) != reference.key
            or join in joined
            or (is_one_to_one(reference) and reference.tables[::-1] in extensions)
        )
        if is_rival and not reference.declared:
            continue
        if join in joined:
            continue
        kept.append(reference)
        referring.add(columns)
        joined.add(join)
        keys.setdefault(reference.tables, reference.key)
        extensions |= {reference.tables} if is_one_to_one(reference) else set()
    return kept


def is_one_to_one(reference: CompositeReference) -> bool:
    """Return whether at most one row refers to each row of the referenced table."""
    return reference.evidence.evidence.cardinality is Cardinality.ONE_ONE
