"""Decide which joins an AI agent may use.

An agent cannot see that a sum is too large, so a join is safe only if nothing speaks against it.
"""

from collections.abc import Iterator

from typing_extensions import assert_never

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.steps import JoinPath, Step
from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.metadata.confidence_bands import BANDS, NOT_VERIFIED

MIN_SCORE = BANDS["medium"]
"""Default minimum joinability of a safe join that nobody has confirmed."""


def single_join_path(join: CatalogJoin) -> JoinPath:
    """Return a path that consists of the given join alone."""
    return JoinPath(steps=(Step(join=join),))


def reasons_unsafe(join: CatalogJoin, *, min_score: float) -> list[str]:
    """List the reasons why an AI agent must not use a join."""
    return reasons_unsafe_in_path(join, min_score=min_score) or [*_repeats(join)]


def reasons_unsafe_in_path(join: CatalogJoin, *, min_score: float) -> list[str]:
    """List the reasons to doubt a join, other than repeated rows in its result.

    Returns:
        Phrases in English; none for a join that may be part of a path.
    """
    return [*_decided(join), *([] if join.is_confirmed else _unconfirmed(join, min_score))]


def _decided(join: CatalogJoin) -> Iterator[str]:
    if join.verdict is Verdict.REJECTED:
        yield "a person rejected it"
    elif join.removed:
        yield "it is hidden in DataHub"


def _unconfirmed(join: CatalogJoin, min_score: float) -> Iterator[str]:
    """Yield the reasons to doubt a suggestion that nobody has confirmed."""
    if not join.is_verified:
        yield f"{NOT_VERIFIED}: only names and types suggest it"
    yield from _without_direction(join.likely_role)
    if join.strength < min_score:
        yield f"nobody confirmed it, and its joinability {join.strength:.2f} is below {min_score:g}"


def _without_direction(role: Role) -> Iterator[str]:
    match role:
        case Role.REFERENCE | Role.ONE_TO_ONE:
            return
        case Role.SIBLING:
            yield "both columns refer to the same key of another table, and neither is that key"
        case Role.SAME_DOMAIN:
            yield "the columns hold values of one kind, but neither is a key of the other"
        case _:
            assert_never(role)


def _repeats(join: CatalogJoin) -> Iterator[str]:
    """Yield a reason to doubt a join if its result repeats rows that should appear once.

    Either rows of both tables repeat, or the key has duplicates and repeats some rows of the
    table that should stay unique.
    """
    path = single_join_path(join)
    if path.grain is None:
        yield "many-to-many: rows of both tables repeat, so sums over the result are wrong"
    elif not path.is_safe:
        yield f"the key has duplicates, so some rows of {path.grain} repeat"
