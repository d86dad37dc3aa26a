"""Explain why a pair of columns is suggested as a join, or why not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.explain.columns import ColumnExplanation, explain_column
from datahub_hyperjoin.explain.errors import SameColumnError
from datahub_hyperjoin.explain.ranking import (
    RankExplanation,
    SignalExplanation,
    explain_rank,
    explain_signals,
)
from datahub_hyperjoin.joins import (
    CatalogEvidence,
    CrosswalkJoin,
    Evidence,
    Join,
    KnownNamesakes,
    Verdict,
)
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.rank import Ranker
from datahub_hyperjoin.model.roles.references import NO_KEY, Relations
from datahub_hyperjoin.stages.pair_evidence import confirm_pairs
from datahub_hyperjoin.stages.role_decisions import decide_with_repeated, find_objection
from datahub_hyperjoin.suggest import LakeComparison
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Pair, pair_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceExplanation:
    """A column's probable reference to a key, and the probability of that reference.

    The probability takes the evidence of verified pairs into account.
    """

    column: ColumnId
    """The referring column."""

    key: ColumnId
    """The key to which the column refers."""

    probability: float
    """Probability of the reference, in [0, 1]."""

    namesakes: KnownNamesakes | None = None
    """The known references of other columns with the same name. None if no other column is known to
    refer to this key, or if the catalog confirms the column's own reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairExplanation:
    """The facts that decide whether a pair of columns is suggested as a join."""

    columns: tuple[ColumnExplanation, ColumnExplanation]
    """Both columns, in the order of the question."""

    catalog: CatalogEvidence
    """What the catalog and people say about the pair."""

    signals: tuple[SignalExplanation, ...] = ()
    """The signals of the pair, computed from the first column to the second."""

    ranks: tuple[RankExplanation, ...] = ()
    """How each column was ranked for the other one."""

    evidence: Evidence | None = None
    """The evidence, with the first column as the left one; None if the pair was not verified."""

    references: tuple[ReferenceExplanation, ...] = ()
    """The key that each column refers to."""

    repeated: tuple[ReferenceExplanation, ...] = ()
    """References between the two columns; they are dropped because the key has repeated values."""

    join: Join | None = None
    """The join; None if the pair is not suggested."""

    objection: str = ""
    """The reason why the pair is not suggested; empty for a suggested pair."""


def explain_pair(
    left: ColumnProfile,
    right: ColumnProfile,
    comparison: LakeComparison,
    facts: CatalogFacts,
    config: ModelConfig,
) -> PairExplanation:
    """Explain why a pair of columns is suggested as a join, or why not.

    Args:
        left: A column.
        right: Another column.
        comparison: The results of a run.
        facts: The catalog facts of the run.
        config: The method.

    Raises:
        SameColumnError: Both are the same column.
    """
    if left.id == right.id:
        raise SameColumnError.named(str(left.id))
    asked, pair = (left.id, right.id), pair_of(left.id, right.id)
    columns = (
        explain_column(left, comparison, config),
        explain_column(right, comparison, config),
    )
    index, catalog = comparison.index, facts.of(pair)
    number = index.lake.index_of
    if left.id not in number or right.id not in number:
        opaque = next(each for each in columns if each.column not in number)
        objection = f"{opaque.column} cannot be joined: {opaque.obstacle}"
        return PairExplanation(columns=columns, catalog=catalog, objection=objection)
    one, other = number[left.id], number[right.id]
    ranker = Ranker.of(index, comparison.encoding.embeddings, config)
    ranks = tuple(explain_rank(ranker, comparison, *ends) for ends in ((one, other), (other, one)))
    joins = {join.pairs: join for join in comparison.findings.joins}
    join = joins.get((pair,)) or next((each for each in joins.values() if pair in each.pairs), None)
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
    relations, repeated = decide_with_repeated(index, confirmed)
    return PairExplanation(
        columns=columns,
        catalog=catalog,
        signals=explain_signals(ranker, one, other),
        ranks=ranks,
        evidence=evidence if evidence is None or pair[0] == left.id else evidence.reversed,
        references=_describe(index, relations, facts, asked),
        repeated=_describe(index, repeated, facts, asked, between=True),
        join=join,
        objection=objection,
    )


def _describe(
    index: LakeIndex,
    relations: Relations,
    facts: CatalogFacts,
    columns: Pair,
    *,
    between: bool = False,
) -> tuple[ReferenceExplanation, ...]:
    """For each of two columns, describe the key that it refers to.

    A column that refers to no key is left out, and if `between`, one that refers to a third column.
    """
    ids, numbers = index.lake.ids, [index.lake.index_of[column] for column in columns]

    def namesakes(number: int, key: int) -> KnownNamesakes | None:
        is_confirmed = facts.of(pair_of(ids[number], ids[key])).is_confirmed
        return None if is_confirmed else relations.namesakes_of(number)

    return tuple(
        ReferenceExplanation(
            column=ids[number],
            key=ids[key],
            probability=float(relations.probability[number]),
            namesakes=namesakes(number, key),
        )
        for number, key in zip(numbers, relations.key[numbers].tolist(), strict=True)
        if key in numbers or (key != NO_KEY and not between)
    )


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
            f"on the data, neither column contains more than {evidence.containment:.0%} of the "
            f"other's values, which is below `model.ranking.min_containment` {least:g}"
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
