"""Suggest joins for tables whose rows were not read.

Names and catalog facts take the place of values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import Join, KnownNamesakes, Role, Verdict, best_scores, sort_joins
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.tables import ColumnId, DescribedTable, Pair, TableProfile, pair_of


def describe_unread(
    profiles: Sequence[TableProfile], facts: CatalogFacts
) -> tuple[DescribedTable, ...]:
    """Return the tables whose columns are known but whose rows were not read.

    The catalog or the header of a file names the columns.

    Args:
        profiles: All tables of a run, with those that could not be read.
        facts: The columns of each table in the catalog, with their declared types, and further
            tables that the run does not read.
    """
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
) -> tuple[Join, ...]:
    """Suggest joins for tables whose rows were not read.

    Returns:
        References, and joins that the catalog or a person states, without evidence; the most
        probable first. No pair of tables that were both read is among them.
    """
    index, by_names = index_by_names(profiles, described, config, facts)
    if not len(index.lake):
        return ()
    unread = {table.id for table in described}
    decisions = _Decisions(index, facts, config.ranking.min_joinability)
    scores = best_scores(rank(index, index.names.vectors(), by_names))
    for pair in decisions.referring:
        scores.setdefault(pair, 0.0)
    joins = (
        decisions.join(pair, score)
        for pair, score in scores.items()
        if any(end.table in unread for end in pair)
    )
    found = filter(None, joins)
    return tuple(sort_joins(found))


@dataclass(frozen=True)
class _Decisions:
    """The facts, other than values, that decide whether a pair is a join."""

    index: LakeIndex
    facts: CatalogFacts
    min_joinability: float

    @property
    def referring(self) -> Iterator[Pair]:
        """All columns that probably refer to a key, each paired with this key."""
        ids = self.index.lake.ids
        for column, (key, _) in self.index.references.best.items():
            yield pair_of(ids[column], ids[key])

    def join(self, pair: Pair, score: float) -> Join | None:
        """Convert a pair to a join if names or the catalog suggest it; otherwise return None."""
        catalog = self.facts.of(pair)
        if catalog.verdict is Verdict.REJECTED:
            return None
        key, probability = self._reference(pair)
        if key and probability >= self.min_joinability:
            # What is declared has been true once; its score tells how surely it still is.
            score = score if key == self.facts.referenced.get(pair) and score else probability
            role = Role.REFERENCE
        elif catalog.is_confirmed or (catalog.queries and score >= self.min_joinability):
            key, role = None, Role.SAME_DOMAIN
        else:
            return None
        return Join(
            left=pair[0],
            right=pair[1],
            joinability=score,
            evidence=None,
            catalog=catalog,
            role=role,
            referenced=key,
            namesakes=None if catalog.is_confirmed else self._namesakes(pair, key),
        )

    def _namesakes(self, pair: Pair, key: ColumnId | None) -> KnownNamesakes | None:
        """Return what is known of the columns that have the same name as the referring column."""
        if key is None:
            return None
        referring = pair[0] if key == pair[1] else pair[1]
        return self.index.relations.namesakes_of(self.index.lake.index_of[referring])

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
