"""Keep each score in the catalog until the new score differs noticeably.

Each decision and each new table moves most scores a little, and every score is part of several
aspects. Without a dead band, two decisions would rewrite a whole catalog.
"""

from collections.abc import Mapping
from dataclasses import replace

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.emit import Publication
from datahub_hyperjoin.joins import Join, sort_joins
from datahub_hyperjoin.metadata.relationship_aspect import SCORE_DIGITS, join_urn

DEAD_BAND = 0.05
"""Smallest change of a score that is written. After a smaller change, the join keeps its old score
and thus its confidence band. The first decisions that calibrate the scores change them by up to
0.03."""


def keep_written_scores(
    publication: Publication, catalog: Catalog, remembered: Mapping[str, float]
) -> Publication:
    """Keep the earlier score of each join whose score has changed little.

    A score that drifts slowly is written once it has moved far enough. It is compared with the
    score that was written, not with that of the last run.

    Args:
        remembered: The scores that earlier runs wrote for joins without a relationship, by the URN
            that it would have.
    """
    joins = [_settled(join, catalog, remembered) for join in publication.joins]
    return replace(
        publication,
        joins=sort_joins(joins),
    )


def scores_to_remember(publication: Publication) -> dict[str, float]:
    """Return the scores of implied joins, for which no relationship is written.

    A join is implied if other joins connect its value domain. Its score is given by the URN that
    its relationship would have.
    """
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
    if same_kind and abs(before.joinability - now.joinability) < DEAD_BAND:
        return replace(now, joinability=before.joinability)
    return now
