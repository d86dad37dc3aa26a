"""Explain a column, the score and the rank of a pair, and why it is a join or not."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.explain.clues import ClueExplanation, WatchedTrees
from datahub_hyperjoin.explain.errors import SameColumnError, UnknownColumnError
from datahub_hyperjoin.find import LakeComparison
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import (
    CatalogEvidence,
    CrosswalkJoin,
    Derivation,
    Evidence,
    Join,
    KnownNamesakes,
    Suggestion,
    Verdict,
)
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.candidates import candidate_sources
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_scoring import (
    NoisyOrScorer,
    PairSignals,
    probabilities_by_signal,
    score_pairs,
)
from datahub_hyperjoin.model.ranking.rank import Ranker
from datahub_hyperjoin.model.roles.references import NO_KEY, Relations
from datahub_hyperjoin.model.signals.priors import find_obstacle
from datahub_hyperjoin.names import ends_in, names_table, split_column, without_extension
from datahub_hyperjoin.stages.pair_evidence import confirm_pairs
from datahub_hyperjoin.stages.role_decisions import decide_with_repeated, find_objection
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Pair, TableProfile, pair_of
from datahub_hyperjoin.wording import percent

SOURCES = {
    "containment": "values, of which the profiles keep hashes",
    "ochiai": "values, of which the profiles keep hashes",
    "cells": "spelling of the values in the samples",
    "names": "names of the columns",
    "cosine": "network that was trained on the lake",
    "lookup": "values of the first column in the second, where these are unique",
    "location": "values, and one folder or schema",
    "entities": "standard codes and names, and crosswalks",
    "related": "references to keys, for columns that are not both text",
    "catalog": "foreign keys, relationships and queries",
}
"""For each signal, the data from which it is computed, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalExplanation:
    """A signal of a pair, with its value and its source."""

    name: str
    measured: float

    alone: float
    """Probability of a join by this signal alone, in [0, 1]."""

    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankExplanation:
    """The scores and the rank of a candidate for a query column."""

    query: ColumnId
    candidate: ColumnId

    found_by: tuple[str, ...]
    """Names of the sources that found the candidate; empty if no source did."""

    candidates: int

    place: int
    """Place by the score alone, from 1; 0 if the column is not a candidate."""

    rank: int
    """Rank of the candidate among the suggestions before verification; 0 if it is not suggested."""

    by_signals: float

    corrected: float
    """The score by all signals after its correction by the trees and the pair network."""

    by_decisions: float
    """The score after all corrections, which include people's decisions about similar pairs."""

    joinability: float


def _explain_signals(ranker: Ranker, left: int, right: int) -> tuple[SignalExplanation, ...]:
    """List the signals of a pair, strongest first."""
    if not isinstance(ranker.signals, NoisyOrScorer):
        return ()
    signals = ranker.signals.measure(np.array([[left]]), np.array([[right]]))
    alone = probabilities_by_signal(signals, ranker.signals.strengths)
    listed = [
        SignalExplanation(
            name=name,
            measured=_measure(name, signals),
            alone=float(probability.item()),
            source=SOURCES[name],
        )
        for name, probability in alone.items()
        if name != "cosine" or signals.cosine is not None
    ]
    return tuple(sorted(listed, key=lambda each: -each.alone))


def _measure(name: str, signals: PairSignals) -> float:
    compound = {
        "lookup": signals.containment_in_right * signals.right_uniqueness,
        "location": signals.containment * signals.same_location,
        "entities": np.maximum(signals.entities, signals.crosswalk),
    }
    measured = compound[name] if name in compound else getattr(signals, name)
    return float(measured.item())


def _explain_rank(
    ranker: Ranker, comparison: LakeComparison, query: int, candidate: int
) -> RankExplanation:
    """Explain the scores and the rank of a candidate for a query column."""
    ids, keys = ranker.index.lake.ids, ranker.index.keys
    row = np.flatnonzero(keys == query)
    own = ranker.candidates[row[0]] if len(row) else np.zeros(0, dtype=np.int64)
    own = own[own != NO_CANDIDATE]
    scores = score_pairs(ranker.scorer, np.full(len(own), query), own)
    ends = ids[query], ids[candidate]
    ranks = (it.rank for it in comparison.ranked if (it.query, it.candidate) == ends)
    by_signals, corrected, score = (
        float(score_pairs(scorer, np.array([query]), np.array([candidate])).item())
        for scorer in (ranker.signals, ranker.corrected, ranker.scorer)
    )
    sources = candidate_sources(ranker.index, comparison.encoding.embeddings, ranker.config)
    found = [name for name, candidates in sources if candidate in candidates[row]]
    return RankExplanation(
        query=ids[query],
        candidate=ids[candidate],
        found_by=tuple(dict.fromkeys(found)),
        candidates=len(own),
        place=int((scores > score).sum()) + 1 if candidate in own else 0,
        rank=next(ranks, 0),
        by_signals=by_signals,
        corrected=corrected,
        by_decisions=score,
        joinability=float(ranker.probability(np.array([score])).item()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnExplanation:
    """The facts that a run found out about a column."""

    column: ColumnId
    type: str
    rows: int
    distinct: int
    distinct_is_estimated: bool

    uniqueness: float
    """Distinct values per row with a value, in [0, 1]."""

    completeness: float
    is_key: bool

    obstacle: str
    """Why the column is not a key column; empty if it is one."""

    suggestions: tuple[Suggestion, ...]


def find_profile(name: str, profiles: Sequence[TableProfile]) -> ColumnProfile:
    """Find a column by the name that the user gave."""
    # Of a table that was not read, nothing but its header may be known.
    read = [table for table in profiles if not table.fault]
    columns = {str(column.id): column for table in read for column in table.columns}
    if name in columns:
        return columns[name]
    titles = {table.table.id: table.table.title for table in profiles}
    short = {full: f"{titles[one.id.table]}.{one.id.path}" for full, one in columns.items()}
    stems = {full: without_extension(str(one.id.table)) for full, one in columns.items()}
    found = [
        full
        for full, one in columns.items()
        if name == short[full]
        or any(ends_in(each, name) for each in (full, f"{stems[full]}.{one.id.path}"))
    ]
    if len(found) == 1:
        return columns[found[0]]
    if found:
        raise UnknownColumnError.ambiguous(name, columns=sorted(found))
    for table, _ in split_column_name(name, [table for table in profiles if table.fault]):
        raise UnknownColumnError.of_unread_table(name, fault=table.fault)
    for table, column in split_column_name(name, read):
        paths = [each.id.path for each in table.columns]
        raise UnknownColumnError.of_table(column, str(table.table.id), known=paths)
    full_names = {title: full for full, title in short.items()} | {full: full for full in columns}
    near = [full_names[text] for text in get_close_matches(name, full_names, n=1)]
    raise UnknownColumnError.named(name, near=near)


def split_column_name(
    name: str, profiles: Sequence[TableProfile]
) -> Iterator[tuple[TableProfile, str]]:
    """Yield each table that matches the start of a name, together with the rest of the name."""
    for table, column in split_column(name):
        for profile in profiles:
            if table == profile.table.title or names_table(table, str(profile.table.id)):
                yield profile, column


def explain_column(
    profile: ColumnProfile, comparison: LakeComparison, config: ModelConfig
) -> ColumnExplanation:
    """Explain whether a column is a key column, and list its suggestions."""
    index = comparison.index
    number = index.lake.index_of.get(profile.id)
    uniqueness, completeness, is_key = profile.uniqueness, profile.completeness, False
    obstacle = f"its type is {profile.type.value}, and such values are not compared"
    if number is not None:
        # The catalog may have counted more rows.
        uniqueness = float(index.priors.uniqueness[number])
        completeness = float(index.priors.completeness[number])
        is_key = bool(np.isin(number, index.keys))
        obstacle = find_obstacle(
            profile,
            config.keys,
            words=index.lake.column_words[number],
            standing=int(index.lake.standing[number]),
            uniqueness=uniqueness,
            completeness=completeness,
        )
    return ColumnExplanation(
        column=profile.id,
        type=profile.type_in_words,
        rows=profile.rows,
        distinct=profile.distinct,
        distinct_is_estimated=profile.distinct_is_estimated,
        uniqueness=uniqueness,
        completeness=completeness,
        is_key=is_key,
        # What the catalog declares to be a key is one, whatever its values are like.
        obstacle="" if is_key else obstacle,
        suggestions=tuple(it for it in comparison.findings.suggestions if it.query == profile.id),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalKey:
    """Another key that a column may refer to."""

    key: ColumnId
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceExplanation:
    """A column's probable reference to a key, and the probability of that reference.

    The probability takes the evidence of verified pairs into account.
    """

    column: ColumnId
    key: ColumnId
    probability: float

    namesakes: KnownNamesakes | None = None
    """The known references of other columns with the same name. None if no other column is known to
    refer to this key, or if the catalog confirms the column's own reference."""

    clues: tuple[ClueExplanation, ...] = ()
    """The clues that weigh most, strongest first; empty where no values were compared."""

    rivals: tuple[RivalKey, ...] = ()
    """The best other keys, most probable first."""

    answer: str = ""
    """What a language model answered about the column; empty if it was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairExplanation:
    """The facts that decide whether a pair of columns is suggested as a join."""

    columns: tuple[ColumnExplanation, ColumnExplanation]
    """Both columns, in the order of the question."""

    catalog: CatalogEvidence
    signals: tuple[SignalExplanation, ...] = ()
    ranks: tuple[RankExplanation, ...] = ()

    evidence: Evidence | None = None
    """The evidence, with the first column as the left one; None if the pair was not verified."""

    references: tuple[ReferenceExplanation, ...] = ()

    repeated: tuple[ReferenceExplanation, ...] = ()
    """References between the two columns; they are dropped because the key has repeated values."""

    join: Join | None = None
    objection: str = ""

    aside: Derivation | None = None
    """Why a join is not listed by default; None if it is."""


def explain_pair(
    left: ColumnProfile,
    right: ColumnProfile,
    comparison: LakeComparison,
    facts: CatalogFacts,
    config: ModelConfig,
) -> PairExplanation:
    """Explain why a pair of columns is suggested as a join, or why not."""
    if left.id == right.id:
        raise SameColumnError.named(str(left.id))
    asked, pair = (left.id, right.id), pair_of(left.id, right.id)
    columns = (explain_column(left, comparison, config), explain_column(right, comparison, config))
    index, catalog = comparison.index, facts.of(pair)
    number = index.lake.index_of
    for opaque in (each for each in columns if each.column not in number):
        objection = f"{opaque.column} cannot be joined: {opaque.obstacle}"
        return PairExplanation(columns=columns, catalog=catalog, objection=objection)
    one, other = number[left.id], number[right.id]
    ranker = Ranker.of(index, comparison.encoding.embeddings, config)
    ranks = tuple(_explain_rank(ranker, comparison, *ends) for ends in ((one, other), (other, one)))
    joins = [each for each in comparison.findings.all_joins if pair in each.pairs]
    join = next((each for each in joins if not each.further), next(iter(joins), None))
    evidence = comparison.measured.get(pair)
    confirmed = confirm_pairs(
        comparison.measured, min_containment=config.ranking.min_containment, accepted=facts.accepted
    )
    objection = ""
    if join is None:
        early = _early_objections(columns, catalog, ranks, evidence, config)
        objection = (
            _name_crosswalk(pair, comparison.findings.crosswalks)
            or next(early, "")
            or find_objection(index, comparison.ranked, confirmed, facts, config.ranking, pair)
        )
    trees = WatchedTrees()
    relations, repeated = decide_with_repeated(index, confirmed, trees)
    return PairExplanation(
        columns=columns,
        catalog=catalog,
        signals=_explain_signals(ranker, one, other),
        ranks=ranks,
        evidence=evidence if evidence is None or pair[0] == left.id else evidence.reversed,
        references=_describe(index, relations, facts, asked, trees),
        repeated=_describe(index, repeated, facts, asked, trees, between=True),
        join=join,
        objection=objection,
        aside=_aside(comparison.findings, join),
    )


def _describe(
    index: LakeIndex,
    relations: Relations,
    facts: CatalogFacts,
    columns: Pair,
    trees: WatchedTrees,
    *,
    between: bool = False,
) -> tuple[ReferenceExplanation, ...]:
    """For each of two columns, describe the key that it refers to."""
    # A column that refers to no key is left out, and if `between`, one that refers to a third
    # column.
    ids, numbers = index.lake.ids, [index.lake.index_of[column] for column in columns]
    return tuple(
        ReferenceExplanation(
            column=ids[number],
            key=ids[key],
            probability=float(relations.probability[number]),
            namesakes=None
            if facts.of(pair_of(ids[number], ids[key])).is_confirmed
            else relations.namesakes_of(number),
            clues=trees.explain(number, key),
            rivals=tuple(
                RivalKey(key=ids[other], probability=likely)
                for other, likely in trees.rivals(number, key)
            ),
            answer=_answer(index, number),
        )
        for number, key in zip(numbers, relations.key[numbers].tolist(), strict=True)
        if key in numbers or (key != NO_KEY and not between)
    )


def _aside(findings: Findings, join: Join | None) -> Derivation | None:
    """Return why a join is not listed by default; None if it is, or is none."""
    return next((why for why, derived in findings.derived.items() if join in derived), None)


def _answer(index: LakeIndex, column: int) -> str:
    """Say which key a language model chose for a column; empty if it was not asked."""
    if column not in index.choices:
        return ""
    chosen = index.choices[column]
    return "none of the keys" if chosen == NO_KEY else str(index.lake.ids[chosen])


def _name_crosswalk(pair: Pair, crosswalks: Iterable[CrosswalkJoin]) -> str:
    """Describe the two steps by which a pair joins, if it joins only through a crosswalk."""
    for each in crosswalks:
        if pair == (each.left, each.right):
            steps = " and ".join(f"{first} = {second}" for first, second in each.pairs)
            return f"its values are equal in two steps only, {steps}"
    return ""


def _early_objections(
    columns: tuple[ColumnExplanation, ColumnExplanation],
    catalog: CatalogEvidence,
    ranks: tuple[RankExplanation, ...],
    evidence: Evidence | None,
    config: ModelConfig,
) -> Iterator[str]:
    """Yield the reasons why a pair was rejected, was not ranked or failed verification."""
    left, right = columns
    least = config.ranking.min_containment
    if catalog.verdict is Verdict.REJECTED:
        yield f"it was {catalog.descriptions[-1]}"
    if evidence and evidence.containment < least:
        yield (
            f"on the data, neither column contains more than {percent(evidence.containment)} of "
            f"the other's values, which is below `model.ranking.min_containment` {least:g}"
        )
    if evidence:
        return
    if left.column.table == right.column.table:
        yield "both columns are in one table, and columns of one table are not compared"
    if not (left.is_key or right.is_key):
        reasons = "; ".join(f"{each.column}: {each.obstacle}" for each in columns)
        yield f"neither is a key column ({reasons})"
    yield "; ".join(_misses(columns, ranks, config))


def _misses(
    columns: tuple[ColumnExplanation, ColumnExplanation],
    ranks: tuple[RankExplanation, ...],
    config: ModelConfig,
) -> Iterator[str]:
    """For each column of a pair, explain why its ranking does not suggest the other column."""
    ranking = config.ranking
    for column, each in zip(columns, ranks, strict=True):
        if not column.is_key:
            yield f"nothing is ranked for {each.query}, since it is no key column"
        elif not each.place:
            yield (
                f"{each.candidate} is none of the {each.candidates} candidates for {each.query}: "
                "names, values, spelling and references all find others that are more similar"
            )
        elif each.joinability < ranking.min_joinability:
            yield (
                f"for {each.query}, {each.candidate} has a joinability of {each.joinability:.2f}, "
                f"below `model.ranking.min_joinability` {ranking.min_joinability:g}"
            )
        else:
            yield (
                f"for {each.query}, {each.candidate} is number {each.place} of {each.candidates} "
                f"candidates by its score, and `model.ranking.top_k` {ranking.top_k} candidates "
                "score higher or agree better with each other"
            )
