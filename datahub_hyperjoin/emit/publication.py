"""The joins of a run, and what is written of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from datahub.metadata.schema_classes import ERModelRelationshipPropertiesClass

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.emit.watched_joins import Watched
from datahub_hyperjoin.joins import (
    SCORE_DIGITS,
    Bridge,
    CrosswalkJoin,
    Derivation,
    Join,
    JoinedColumns,
    KnownNamesakes,
    Statement,
    sort_joins,
)
from datahub_hyperjoin.joins.evidence import read_told
from datahub_hyperjoin.metadata.relationships import EVIDENCE, join_urn
from datahub_hyperjoin.tables import ColumnId, TableId


@dataclass(frozen=True, kw_only=True)
class Publication:
    """The joins to write, and facts about their tables."""

    joins: Sequence[Join]
    """Verified joins with their evidence, best first."""

    ranks: Mapping[tuple[ColumnId, ColumnId], int] = field(default_factory=dict)
    titles: Mapping[TableId, str]
    """For each table, the name that users know."""

    model_version: str
    statements: Mapping[JoinedColumns, Statement] = field(default_factory=dict)
    """The SQL of joins, or the reasons why they have none."""

    implied: frozenset[JoinedColumns] = frozenset()
    """Joins that follow from other joins, for which no relationship is written."""

    derived: Mapping[JoinedColumns, Derivation] = field(default_factory=dict)
    """The implied joins that the run does not list either, with the reasons. Only their number is
    written."""

    crosswalks: Sequence[CrosswalkJoin] = ()
    unread: frozenset[TableId] = frozenset()
    """Tables that this run did not read. Their metadata is not withdrawn."""

    described: frozenset[TableId] = frozenset()
    """Tables that this run did not read, but whose joins it judged by names."""

    shared: Sequence[Join] = ()
    """Joins that only other pipelines publish. This run also lists them in properties of its
    columns and datasets."""

    watched: Sequence[Watched] = ()
    """The watched joins with the results of this run, and those that are no longer watched."""

    now: int = 0
    """Time of writing, in milliseconds since 1970. Metadata that does not change keeps its time."""

    @property
    def linking(self) -> list[Join]:
        """The joins that are not implied by other joins."""
        return [join for join in self.joins if join.pairs not in self.implied]

    @property
    def listed(self) -> list[Join]:
        """The joins that columns list, and that agents are told of: also those of value domains."""
        return [join for join in self.joins if join.pairs not in self.derived]

    @property
    def following(self) -> dict[ColumnId | TableId, dict[TableId, Derivation]]:
        """For each column and each table, the other tables of its joins that are not listed."""
        found: dict[ColumnId | TableId, dict[TableId, Derivation]] = defaultdict(dict)
        for join in self.joins:
            if (why := self.derived.get(join.pairs)) and len({*join.tables}) > 1:
                for pair in join.pairs:
                    for own, other in (pair, pair[::-1]):
                        found[own].setdefault(other.table, why)
                        found[own.table].setdefault(other.table, why)
        return found

    @property
    def tables(self) -> frozenset[TableId]:
        """The tables that take part in joins."""
        return frozenset(end.table for join in self.joins for end in (join.left, join.right))


def by_table(joins: Iterable[Join]) -> dict[TableId, list[Join]]:
    """Group joins by each of their tables, in the order of the tables."""
    grouped: dict[TableId, list[Join]] = defaultdict(list)
    for join in joins:
        for table in {join.left.table, join.right.table}:
            grouped[table].append(join)
    return dict(sorted(grouped.items()))


def rename_steps(join: CrosswalkJoin, name: Callable[[ColumnId], ColumnId]) -> CrosswalkJoin:
    """Return a copy of a join through a crosswalk, with renamed columns."""
    left, left_via, right_via, right = map(
        name, (join.left, join.bridge.left_via, join.bridge.right_via, join.right)
    )
    return replace(join, bridge=Bridge(left, left_via, right_via, right))


# Each decision and each new table moves most scores a little, and every score is part of several
# aspects. Without a dead band, two decisions would rewrite a whole catalog.
DEAD_BAND = 0.05
"""Smallest change of a score that is written. After a smaller change, the join keeps its old score
and thus its confidence band. The first decisions that calibrate the scores change them by up to
0.03."""


def keep_written_scores(
    publication: Publication, catalog: Catalog, remembered: Mapping[str, float]
) -> Publication:
    """Keep the earlier score of each join whose score has changed little."""
    # A score that drifts slowly is written once it has moved far enough. It is compared with
    # the score that was written, not with that of the last run.
    joins = [_settled(join, catalog, remembered) for join in publication.joins]
    return replace(publication, joins=sort_joins(joins))


def scores_to_remember(publication: Publication) -> dict[str, float]:
    """Return the scores of implied joins, for which no relationship is written."""
    # A join is implied if other joins connect its value domain. Its score is given by the URN
    # that its relationship would have.
    return {
        join_urn(join): join.joinability
        for join in publication.joins
        if join.pairs in publication.implied
    }


def _settled(join: Join, catalog: Catalog, remembered: Mapping[str, float]) -> Join:
    # Rounded as it is written, so that joins with equal scores have the same order in every run.
    now = replace(join, joinability=round(join.joinability, SCORE_DIGITS))
    urn = join_urn(join)
    relationship = catalog.relationships.get(urn)
    before = now
    if relationship and relationship.join and not relationship.removed:
        before = relationship.join
    elif urn in remembered:
        before = replace(now, joinability=remembered[urn])
    # What nobody verified has a band of its own, whatever its score.
    same_kind = (before.evidence is None) == (now.evidence is None)
    if not same_kind or abs(before.joinability - now.joinability) >= DEAD_BAND:
        return now
    kept = replace(now, joinability=before.joinability)
    return _with_reasons(kept, relationship.aspect) if relationship and before is not now else kept


def _with_reasons(join: Join, written: ERModelRelationshipPropertiesClass) -> Join:
    """Return a join with those reasons for its score with which the kept score was written."""
    # People's decisions about its relatives explain a score that they moved. Where they did not,
    # their number alone would rewrite the relatives of every decision.
    evidence = written.customProperties.get(EVIDENCE, "")
    catalog = replace(join.catalog, told=read_told(evidence))
    known = KnownNamesakes.are_in(evidence)
    return replace(join, catalog=catalog, namesakes=join.namesakes if known else None)
