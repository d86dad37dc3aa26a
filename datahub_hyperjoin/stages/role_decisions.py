"""Decide which pairs are joins, and choose the role of each join.

Then rank the join partners of each column.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from jaxtyping import Bool, UInt64

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import (
    Cardinality,
    Evidence,
    Join,
    Role,
    Suggestion,
    Verdict,
    best_scores,
    reference,
    sort_joins,
)
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig
from datahub_hyperjoin.model.domains import FITTED_WEIGHTS, DomainOdds, DomainWeights
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.llm import AnswerCounts
from datahub_hyperjoin.model.llm.errors import Failure
from datahub_hyperjoin.model.roles.reference_trees import Correction, correct_by_trees
from datahub_hyperjoin.model.roles.references import NO_KEY, References, Relations
from datahub_hyperjoin.model.roles.words import endings
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, meaningful_words
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.tables import ColumnId, Pair, pair_of
from datahub_hyperjoin.value_forms import VALUE_FORMS
from datahub_hyperjoin.wording import percent

# Not all columns with the same values do: counters all hold 1 to 10, and yes and no answer any
# question.

_MAX_DENSITY = 0.5
"""Density above which a column of numbers is taken for a counter. Counters share no domain, because
every counter holds 1 to 10."""
_MAX_SELECTIVITY = 0.1
"""Selectivity of a join above which its values hardly tell rows apart."""
_TIMES = frozenset(["date", "day", "hour", "month", "quarter", "season", "week", "year"])
"""Things whose numbers stand in tables of any kind."""
_MAX_NAMED_FAN_OUT = 50
"""Maximum number of partners of an average row, on one side, of a join by equal names alone."""
_FEW_VALUES = 2
"""Maximum number of shared values at which such a join is never useful: two values are a flag."""
_FIRST = 8
"""Number of hashes that are looked up first, since most columns lack one of them."""
_HASH = np.dtype("<u8")

_Hashes = UInt64[np.ndarray, " hash"]


def _are_in(sketch: _Hashes, hashes: _Hashes) -> Bool[np.ndarray, " hash"]:
    """Mark the hashes that a sketch holds, both ascending; much faster than `numpy.isin`."""
    at = np.minimum(np.searchsorted(sketch, hashes), len(sketch) - 1)
    return np.asarray(sketch[at] == hashes)


def _holds_all(sketch: _Hashes, hashes: _Hashes) -> bool:
    """Return whether a sketch holds all of some hashes, of which a few mostly tell."""
    few = hashes[:_FIRST]
    return bool(_are_in(sketch, few).all() and _are_in(sketch, hashes).all())


_UNRANKED = 1_000_000
"""Rank of a partner that the ranking does not suggest."""
_PROPOSED = 3
"""Maximum number of keys that are verified for each column."""
_MIN_PROPOSED = 0.05
"""Minimum probability at which a reference is proposed for verification."""
_MAX_FAN_OUT = 1.02
"""Maximum number of rows of a key per referring row. A key may hold a few duplicates by error."""
_MAX_MATCHED_FAN_OUT = 1.1
"""Maximum fan-out from the matching rows of a referring table to a key. Rare values may match less
often than frequent ones, so that more rows match than values."""


def propose_references(index: LakeIndex) -> set[Pair]:
    """Propose pairs in which one column probably refers to the other."""
    # Whatever people decide, the same pairs are measured: what is known of one moves others.
    references = index.references
    return _propose(index, references) | _propose(index, references.without_decisions())


def _propose(index: LakeIndex, references: References) -> set[Pair]:
    ids, likely = index.lake.ids, np.flatnonzero(references.probability >= _MIN_PROPOSED)
    best_first = likely[np.argsort(-references.probability[likely], kind="stable")]
    proposed: dict[int, list[Pair]] = defaultdict(list)
    for position in best_first.tolist():
        column, key = int(references.referring[position]), int(references.referenced[position])
        proposed[column].append(pair_of(ids[column], ids[key]))
    return {pair for pairs in proposed.values() for pair in pairs[:_PROPOSED]}


def decide_relations(index: LakeIndex, evidence: Mapping[Pair, Evidence]) -> Relations:
    """Decide from measured evidence which key each column refers to."""
    return Relations.from_references(weigh_references(index, evidence), len(index.lake))


def weigh_references(index: LakeIndex, evidence: Mapping[Pair, Evidence]) -> References:
    """Weigh all references by measured evidence, and drop those that it refutes."""
    references, refuted = _measure_references(index, evidence)
    return _without(references, refuted)


def ask_about_keys(
    index: LakeIndex, evidence: Mapping[Pair, Evidence], config: ModelConfig, progress: Progress
) -> LakeIndex:
    """Ask a language model, if the recipe names one, which keys the uncertain columns refer to.

    Returns:
        The index with the answers.
    """
    if config.llm is None:
        return index
    # Few runs ask a language model.
    from datahub_hyperjoin.model.llm.adjudication import adjudicate  # noqa: PLC0415

    references = weigh_references(index, evidence)
    found = adjudicate(index.lake, references, config.llm, progress.say, index.naming.counts)
    report_answers(found.counts, found.failures, progress)
    return index.with_choices(found.choices)


def report_answers(counts: AnswerCounts, failures: Iterable[Failure], progress: Progress) -> None:
    """Count what a language model was asked, and warn of its failures."""
    progress.count("llm_questions", counts.questions)
    progress.count("llm_answers", counts.received)
    progress.count("llm_answers_from_cache", counts.cached)
    progress.count("llm_requests", counts.requests)
    progress.count("llm_tokens", counts.tokens)
    progress.count("llm_cost", counts.cost)
    for failure in failures:
        progress.warn(failure.title, failure.message, failure.context)


def decide_with_repeated(
    index: LakeIndex, evidence: Mapping[Pair, Evidence], correct: Correction
) -> tuple[Relations, Relations]:
    """Decide like `decide_relations`, and also return the references that were dropped."""
    references, refuted = _measure_references(index, evidence, correct)
    count = len(index.lake)
    likely = Relations.from_references(references, count)
    ends = zip(range(count), likely.key.tolist(), strict=True)
    is_repeated = np.array([pair in refuted for pair in ends], dtype=bool)
    repeated = replace(likely, key=np.where(is_repeated, likely.key, NO_KEY))
    return Relations.from_references(_without(references, refuted), count), repeated


def _measure_references(
    index: LakeIndex, evidence: Mapping[Pair, Evidence], correct: Correction = correct_by_trees
) -> tuple[References, set[tuple[int, int]]]:
    """Weigh all references by measured evidence, and also return the refuted references."""
    number = index.lake.index_of
    measured: dict[tuple[int, int], float] = {}
    refuted: set[tuple[int, int]] = set()
    for (left, right), both in evidence.items():
        # Codes that match names are no reference: a foreign key repeats the values of its key.
        if both.compared_as in VALUE_FORMS:
            for one, other, seen in ((left, right, both), (right, left, both.reversed)):
                ends = number[one], number[other]
                measured[ends] = seen.left_containment
                if _repeats_key(seen):
                    refuted.add(ends)
    return index.find_references(measured, correct), refuted


def _repeats_key(evidence: Evidence) -> bool:
    """Return whether the right column of a pair repeats too many values to be a key."""
    # The fan-out also counts rows without a match, whose number is known for distinct values only.
    if evidence.cardinality in {Cardinality.ONE_ONE, Cardinality.MANY_ONE}:
        return False
    matched = _MAX_MATCHED_FAN_OUT * evidence.left_containment
    return evidence.left_fan_out > min(_MAX_FAN_OUT, matched)


def _without(references: References, refuted: Collection[tuple[int, int]]) -> References:
    ends = zip(references.referring.tolist(), references.referenced.tolist(), strict=True)
    return references.select(np.array([pair not in refuted for pair in ends], dtype=bool))


def joinability_of(*references: float, ranked: float = 0.0) -> float:
    """Return the probability that a person would accept a join in its role."""
    # All references that the role states must hold, and they are taken for independent: one of a
    # reference, both of siblings. Where the catalog states a join, the ranking's score is all.
    return float(prod(references)) if references else ranked


def decide_joins(
    index: LakeIndex,
    ranked: Iterable[Suggestion],
    evidence: Mapping[Pair, Evidence],
    facts: CatalogFacts,
    config: RankingConfig,
    weights: DomainWeights = FITTED_WEIGHTS,
) -> tuple[Join, ...]:
    """Decide which verified pairs are joins, and choose the role of each join."""
    decisions = _Decisions.of(index, ranked, evidence, facts, config, weights)
    joins = [decisions.join(pair, both) for pair, both in evidence.items()]
    return tuple(sort_joins(filter(None, joins)))


def find_objection(
    index: LakeIndex,
    ranked: Iterable[Suggestion],
    evidence: Mapping[Pair, Evidence],
    facts: CatalogFacts,
    config: RankingConfig,
    pair: Pair,
) -> str:
    """Return the reason why a verified pair is not a join; empty if it is a join."""
    decisions = _Decisions.of(index, ranked, evidence, facts, config)
    return decisions.find_objection(pair, evidence[pair])


@dataclass(frozen=True)
class _Decisions:
    """The facts that decide whether a pair is a join, and in which role."""

    index: LakeIndex
    relations: Relations
    facts: CatalogFacts
    min_joinability: float
    scores: Mapping[Pair, float]
    """Scores of the pairs that the ranking suggests."""

    told: Mapping[Pair, tuple[int, int]]
    """How many decisions about relatives of these pairs changed their scores."""

    domains: Mapping[Pair, float]
    """Probabilities that the columns of these pairs share a domain."""

    @classmethod
    def of(
        cls,
        index: LakeIndex,
        ranked: Iterable[Suggestion],
        evidence: Mapping[Pair, Evidence],
        facts: CatalogFacts,
        config: RankingConfig,
        weights: DomainWeights = FITTED_WEIGHTS,
    ) -> "_Decisions":
        references, refuted = _measure_references(index, evidence)
        references, ranked = _without(references, refuted), [*ranked]
        best = best_scores(ranked)
        told = {pair_of(each.query, each.candidate): each.told for each in ranked if any(each.told)}
        relations = Relations.from_references(references, len(index.lake))
        scores = {pair: best[pair] for pair in evidence if pair in best}
        domains = scores
        if index.roles:
            number = index.lake.index_of
            left, right = (np.array([number[p[side]] for p in scores], int) for side in (0, 1))
            shared = [evidence[pair].shared for pair in scores]
            # What is around two columns is no matter of decisions about others.
            around = Relations.from_references(references.without_decisions(), len(index.lake))
            described = DomainOdds(index.lake, around).describe(
                left, right, np.array([*scores.values()]), shared
            )
            # Many equal values are no better than the ranking knows: codes of three letters share
            # thousands by chance. Codes hardly stand for names by chance.
            domains = {
                pair: min(score, likely) if evidence[pair].compared_as in VALUE_FORMS else score
                for (pair, score), likely in zip(
                    scores.items(), weights.weigh(described).tolist(), strict=True
                )
            }
        return cls(index, relations, facts, config.min_joinability, scores, told, domains)

    def join(self, pair: Pair, evidence: Evidence) -> Join | None:
        """Convert a pair to a join in the most useful role; None if the pair is not a join."""
        catalog = self.facts.of(pair)
        if catalog.verdict is Verdict.REJECTED:  # Measured as a step through a crosswalk.
            return None
        if catalog.verdict is None and pair in self.told:
            catalog = replace(catalog, told=self.told[pair])
        join = Join(
            left=pair[0],
            right=pair[1],
            joinability=joinability_of(ranked=self.scores.get(pair, 0.0)),
            evidence=evidence,
            catalog=catalog,
        )
        number = self.index.lake.index_of
        ends = number[pair[0]], number[pair[1]]
        likely, target = self._with_role(join, *ends), self.facts.referenced.get(pair)
        is_meant = target is None or (likely is not None and likely.referenced == target)
        if likely and is_meant and likely.joinability >= self.min_joinability:
            return likely
        if pair not in self.scores:
            return None
        if catalog.is_confirmed:
            return self._as_stated(join, target)
        if catalog.queries or not self.index.roles:
            return join
        objection = self._object_to_domain(*ends, evidence, self.domains[pair])
        return None if objection else replace(join, joinability=self.domains[pair])

    def find_objection(self, pair: Pair, evidence: Evidence) -> str:
        """Return the reason why a pair is not a join; empty if it is a join."""
        if self.join(pair, evidence):
            return ""
        if self.facts.of(pair).verdict is Verdict.REJECTED:
            return "people rejected it"
        ends = [np.array([self.index.lake.index_of[column]]) for column in pair]
        if self.index.are_apart(*ends).any():
            return "one of them is in a copy of a table, and other tables join the one near to them"
        if pair not in self.scores:
            return "neither column surely refers to the other, and the ranking does not suggest it"
        left, right = (self.index.lake.index_of[column] for column in pair)
        return self._object_to_domain(left, right, evidence, self.domains[pair])

    def _with_role(self, join: Join, left: int, right: int) -> Join | None:
        """Set a join's role from the references of its columns; return None if no role follows."""
        relations = self.relations
        if join.measured.compared_as not in VALUE_FORMS:
            return None
        if right == relations.key[left] or left == relations.key[right]:
            refers = left if right == relations.key[left] else right
            directed = self._directed(join, join.right if refers == left else join.left)
            namesakes = None if join.catalog.is_confirmed else relations.namesakes_of(refers)
            likely = joinability_of(relations.probability[refers])
            return replace(directed, joinability=likely, namesakes=namesakes)
        if relations.key[left] == relations.key[right] != NO_KEY:
            both = joinability_of(relations.probability[left], relations.probability[right])
            return replace(join, role=Role.SIBLING, joinability=both)
        return None

    def _as_stated(self, join: Join, target: ColumnId | None) -> Join:
        """Turn a confirmed join into a reference to `target`, the key that the catalog states."""
        # Without a target, the data decide. The catalog may state several keys for one column; the
        # relations contain only one of them.
        if not self.index.roles or join.measured.compared_as not in VALUE_FORMS:
            return join
        if target is None:
            ends = reference(join)
            return self._directed(join, ends[1]) if ends else join
        evidence = join.measured if target == join.right else join.measured.reversed
        return join if _repeats_key(evidence) else self._directed(join, target)

    def _directed(self, join: Join, referenced: ColumnId) -> Join:
        """Set a join's referenced column, and its role: `one-to-one` or `reference`."""
        referring = join.left if referenced == join.right else join.right
        is_one = join.measured.cardinality is Cardinality.ONE_ONE
        role = (
            Role.ONE_TO_ONE if is_one and self._extends(referring, referenced) else Role.REFERENCE
        )
        return replace(join, role=role, referenced=referenced)

    def _extends(self, referring: ColumnId, referenced: ColumnId) -> bool:
        """Return whether a unique column is a key of its table, and not a reference so far."""
        # A further key, such as a code of countries, is not named after the other table.
        lake = self.index.lake
        column, key = lake.index_of[referring], lake.index_of[referenced]
        words = meaningful_words(lake.column_words[column])
        titles = lake.title_spellings[lake.table_of[key]]
        return lake.standing[column] == 0 or titles.isdisjoint(endings(words))

    def _object_to_domain(
        self, left: int, right: int, evidence: Evidence, probability: float
    ) -> str:
        """Return the reason why two columns share no domain; empty if they may share one."""
        # Tables of lists repeat the `list_id` of their lists, of which there may be no table; those
        # of tenants have a `tenant_id` in each of many rows.
        fan_out = min(evidence.left_fan_out, evidence.right_fan_out)
        is_named = fan_out <= _MAX_NAMED_FAN_OUT and self._are_named_alike(left, right)
        density = self.index.lake.density
        if max(density[left], density[right]) > _MAX_DENSITY and not is_named:
            return (
                "its numbers fill their range without gaps, so that they are in every such column, "
                "and neither column surely refers to the other"
            )
        sure = max(self.min_joinability, probability if is_named else 0.0)
        objection = self._find_nearby_key(left, right, sure)
        objection = objection or self._find_flag(left, right, evidence)
        if objection or probability >= self.min_joinability:
            return objection
        return (
            "neither column surely refers to the other, and for tables with as many references, "
            f"{evidence.shared:,} equal values mean one domain with a probability of "
            f"{probability:.2f}, below `model.ranking.min_joinability` {self.min_joinability:g}"
        )

    def _are_named_alike(self, left: int, right: int) -> bool:
        """Return whether columns of one folder or schema identify things of one name."""
        lake = self.index.lake
        name, other = (lake.column_words[column] for column in (left, right))
        things = meaningful_words(name)
        is_marked = bool(things) and not IDENTIFIER_WORDS.isdisjoint(name)
        is_near = lake.ids[left].table.place == lake.ids[right].table.place
        return name == other and is_marked and is_near and _TIMES.isdisjoint(things)

    def _find_nearby_key(self, left: int, right: int, sure: float) -> str:
        """Object to columns of one folder or schema of which one surely refers to a key there."""
        ids, keys = self.index.lake.ids, self.relations.key
        place = ids[left].table.place
        for column in (left, right) if place == ids[right].table.place else ():
            is_sure = self.relations.probability[column] >= sure
            if is_sure and ids[keys[column]].table.place == place:
                return (
                    f"{ids[column]} refers to {ids[keys[column]]}, and joins other columns of its "
                    "folder through that key"
                )
        return ""

    def _find_flag(self, left: int, right: int, evidence: Evidence) -> str:
        """Object to a pair of columns such as flags, whose few values are in many rows."""
        # A join of n rows repeats each of the n / f rows of a side f times, where f is the fan-out.
        kept = evidence.left_fan_out * evidence.right_fan_out
        selectivity = kept / evidence.rows if evidence.rows else 0.0
        if evidence.cardinality is not Cardinality.MANY_MANY or selectivity <= _MAX_SELECTIVITY:
            return ""
        share = f"its values match in {percent(selectivity)} of all pairs of rows"
        if evidence.shared <= _FEW_VALUES:
            return f"{share}, and are only {evidence.shared}"
        other = self._find_other_holder(left, right)
        return f"{share}, and {other} holds them as well" if other else ""

    def _find_other_holder(self, left: int, right: int) -> ColumnId | None:
        """Find another column of the two tables that holds all values that both columns share."""
        lake = self.index.lake
        hashes = self._hashes(left)
        shared = hashes[_are_in(self._hashes(right), hashes)]
        tables = [lake.columns_of[lake.table_of[column]] for column in (left, right)]
        for column in np.concatenate(tables).tolist() if len(shared) else []:
            if column not in {left, right} and _holds_all(self._hashes(column), shared):
                return lake.ids[column]
        return None

    def _hashes(self, column: int) -> _Hashes:
        return np.frombuffer(self.index.lake.profiles[column].sketch, _HASH)


def rank_partners(
    joins: Sequence[Join], ranked: Iterable[Suggestion], count: int
) -> tuple[Suggestion, ...]:
    """For each column, return at most `count` join partners as suggestions, the best first."""
    rank_of = {(each.query, each.candidate): each.rank for each in ranked}
    partners: dict[ColumnId, list[tuple[Join, ColumnId]]] = defaultdict(list)
    for join in joins:
        for left, right in join.pairs:
            partners[left].append((join, right))
            partners[right].append((join, left))

    def by_use(query: ColumnId, join: Join, partner: ColumnId) -> tuple[object, ...]:
        on_left = any(left == query for left, _ in join.pairs)
        repeats = join.role is Role.REFERENCE and (join.referenced == join.left) is on_left
        use = not join.catalog.verdict, not join.role.is_directed, repeats, join.role.place
        rank = rank_of.get((query, partner), _UNRANKED)
        # Scores of one domain are often equal, and the ranking prefers partners that agree.
        score = -join.joinability if join.role is not Role.SAME_DOMAIN else 0.0
        return *use, score, rank, -join.joinability, partner

    return tuple(
        Suggestion(query=query, candidate=partner, rank=rank, joinability=join.joinability)
        for query, found in sorted(partners.items())
        for rank, (join, partner) in enumerate(
            sorted(found, key=lambda each: by_use(query, *each))[:count], start=1
        )
    )
