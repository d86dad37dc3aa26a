"""Suggest joins that no value confirms: by names, or because a foreign key declares them.

A table may have no rows, a column no values, and a table may not be readable at all. Their foreign
keys are declared nevertheless, and unverified is not refuted.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from datahub_hyperjoin.catalog_facts import CatalogFacts, ForeignKey
from datahub_hyperjoin.joins import Join, Role, Verdict, best_scores, sort_joins
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.stages.role_decisions import ask_about_keys, joinability_of
from datahub_hyperjoin.tables import ColumnId, DescribedTable, Pair, TableProfile, pair_of


def describe_unread(
    profiles: Sequence[TableProfile], facts: CatalogFacts
) -> tuple[DescribedTable, ...]:
    """Return the tables whose columns are known but whose rows were not read."""
    described = [facts.described[table] for table in sorted(facts.unread & {*facts.described})]
    for profile in profiles:
        if not profile.fault:
            continue
        known = facts.described.get(profile.table.id)
        columns = known.columns if known else profile.columns
        if columns:
            table = DescribedTable(id=profile.table.id, title=profile.table.title, columns=columns)
            described.append(table)
    return tuple(described)


def index_by_names(
    profiles: Sequence[TableProfile],
    described: Sequence[DescribedTable],
    config: ModelConfig,
    facts: CatalogFacts,
) -> tuple[LakeIndex, ModelConfig]:
    """Build a lake index that ignores values, and a configuration that ranks by names."""
    by_names = replace(
        config,
        features=replace(config.features, names=True, values=False),
        ranking=replace(config.ranking, scoring=Scoring.SIGNALS),
        setting=replace(config.setting, roles=True, name_variants=False),
    )
    lake = Lake.from_tables(profiles).with_described(described).in_order()
    return build_lake_index(lake, by_names, facts), by_names


def find_named_joins(
    profiles: Sequence[TableProfile],
    described: Sequence[DescribedTable],
    config: ModelConfig,
    facts: CatalogFacts,
    progress: Progress,
) -> tuple[Join, ...]:
    """Suggest joins for tables whose rows were not read."""
    index, by_names = index_by_names(profiles, described, config, facts)
    if not len(index.lake):
        return ()
    index = ask_about_keys(index, {}, config, progress)
    unread = {table.id for table in described}
    decisions = _Decisions(index, facts, config.ranking.min_joinability)
    scores = best_scores(rank(index, index.names.vectors(), by_names))
    ids = index.lake.ids
    for column, (key, _) in index.references.best.items():
        scores.setdefault(pair_of(ids[column], ids[key]), 0.0)
    joins = (
        decisions.join(pair, score)
        for pair, score in scores.items()
        if any(end.table in unread for end in pair)
    )
    return tuple(sort_joins(filter(None, joins)))


@dataclass(frozen=True)
class _Decisions:
    """The facts, other than values, that decide whether a pair is a join."""

    index: LakeIndex
    facts: CatalogFacts
    min_joinability: float

    def join(self, pair: Pair, score: float) -> Join | None:
        """Convert a pair to a join if names or the catalog suggest it; otherwise return None."""
        catalog = self.facts.of(pair)
        if catalog.verdict is Verdict.REJECTED:
            return None
        key, probability = self._reference(pair)
        if key and probability >= self.min_joinability:
            # What is declared has been true once; its score tells how surely it still is.
            is_declared = key == self.facts.referenced.get(pair) and bool(score)
            references, role = () if is_declared else (probability,), Role.REFERENCE
        elif catalog.is_confirmed or (catalog.queries and score >= self.min_joinability):
            key, references, role = None, (), Role.SAME_DOMAIN
        else:
            return None
        namesakes = None
        if key and not catalog.is_confirmed:
            referring = self.index.lake.index_of[pair[0] if key == pair[1] else pair[1]]
            namesakes = self.index.relations.namesakes_of(referring)
        return Join(
            left=pair[0],
            right=pair[1],
            joinability=joinability_of(*references, ranked=score),
            evidence=None,
            catalog=catalog,
            role=role,
            referenced=key,
            namesakes=namesakes,
        )

    def _reference(self, pair: Pair) -> tuple[ColumnId | None, float]:
        """Return the referenced column of a pair, and the reference's probability."""
        if declared := self.facts.referenced.get(pair):
            return declared, 1.0
        relations = self.index.relations
        left, right = (self.index.lake.index_of[column] for column in pair)
        if relations.key[left] == right:
            return pair[1], float(relations.probability[left])
        if relations.key[right] == left:
            return pair[0], float(relations.probability[right])
        return None, 0.0


def find_unverified_keys(
    profiles: Sequence[TableProfile], facts: CatalogFacts, joins: Collection[Join]
) -> tuple[Join, ...]:
    """Return the joins of foreign keys between tables of a run that have no values to compare."""
    with_values = {
        column.id: column.distinct > 0
        for profile in profiles
        if not profile.fault
        for column in profile.columns
    }
    faulty = {profile.table.id for profile in profiles if profile.fault}
    taken = {pair_of(join.left, join.right) for join in joins}
    found: list[Join] = []
    for key in sorted(facts.keys.foreign, key=lambda each: (each.is_composite, each.pairs)):
        ends = [column for pair in key.pairs for column in pair]
        is_known = all(column.table in faulty or column in with_values for column in ends)
        is_empty = not all(with_values.get(column) for column in ends)
        if is_known and is_empty and (join := _join(key, facts, taken)):
            taken.add(pair_of(join.left, join.right))
            found.append(join)
    return tuple(sorted(found, key=lambda join: (join.left, join.right)))


def _join(key: ForeignKey, facts: CatalogFacts, taken: Collection[Pair]) -> Join | None:
    """Return the join of a foreign key, unless people rejected it or there is one already."""
    # A relationship is named by its first pair of columns, so no two joins may share it.
    # DataHub's URNs take long to import, and files declare no foreign keys.
    from datahub_hyperjoin.metadata.relationships import catalog_evidence  # noqa: PLC0415

    evidence = replace(catalog_evidence(key.pairs, facts), declared=key.title)
    free = [pair for pair in key.pairs if pair[0] != pair[1] and pair_of(*pair) not in taken]
    if not free or evidence.verdict is Verdict.REJECTED:
        return None
    referring, referenced = free[0]
    join = Join(
        left=referring,
        right=referenced,
        joinability=joinability_of(1.0),
        evidence=None,
        catalog=evidence,
        role=Role.REFERENCE,
        referenced=referenced,
        further=tuple(pair for pair in key.pairs if pair != free[0]),
    )
    return join.reversed if referenced < referring else join
