"""Which joins are safe: for AI agents, paths and exports alike.

Nobody who uses them sees that a sum is too large, so a join is safe only if nothing speaks against
it: people rejected or hid it, names alone suggest it, neither column is a key, it is improbable, or
its result repeats rows.

Joining along a chain gives rows of a *grain* if some table on it is repeated nowhere. That is so if
the chain first leads only from keys to the rows that refer to them and then only from rows to the
keys that they refer to. A chain that does the reverse, such as drugs → person → visits, pairs all
drugs of a person with all visits: it is many-to-many, like a join of two columns that repeat.
"""

from collections.abc import Iterator, Sequence
from math import prod

from typing_extensions import assert_never

from datahub_hyperjoin.joins.evidence import Verdict
from datahub_hyperjoin.joins.join import BANDS, Join, Role
from datahub_hyperjoin.tables import TableId

NOT_VERIFIED = "not verified on data"
"""Words that mark a join that was not verified on the data."""

UNCOUNTED = "no run has counted its rows yet"
"""Words that mark a join of two columns about which people decided before any run found it."""

MIN_SCORE = BANDS["medium"]
"""Minimum joinability of a safe join that nobody has confirmed, and of a safe chain of joins."""

STRENGTH_DIGITS = 12
"""Number of digits of a rounded product, few enough that the order of the factors has no effect."""


def is_safe(*joins: Join, min_score: float = MIN_SCORE) -> bool:
    """Return whether a join, or a chain of joins in their order, is safe.

    Many joins that are probably right make a chain that is probably wrong, so the chain as a whole
    needs the joinability of a safe join.
    """
    return (
        not any(doubts(join, min_score=min_score) for join in joins)
        and strength(joins) >= min_score
        and grain_of(joins, exact=True) is not None
    )


def reasons_unsafe(join: Join, *, min_score: float = MIN_SCORE) -> list[str]:
    """List the reasons why a join is not safe, in words; none if it is."""
    return doubts(join, min_score=min_score) or [*_repeats(join)]


def doubts(join: Join, *, min_score: float = MIN_SCORE) -> list[str]:
    """List the reasons to doubt a join, other than repeated rows in its result."""
    return [*_decided(join), *([] if join.is_confirmed else _unconfirmed(join, min_score))]


def _decided(join: Join) -> Iterator[str]:
    if join.verdict is Verdict.REJECTED:
        yield "a person rejected it"
    elif join.is_hidden:
        yield "it is hidden in DataHub"


def _unconfirmed(join: Join, min_score: float) -> Iterator[str]:
    """Yield the reasons to doubt a suggestion that nobody has confirmed."""
    if not join.is_verified:
        yield f"{NOT_VERIFIED}: only names and types suggest it"
    yield from _without_direction(join.role)
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


def _repeats(join: Join) -> Iterator[str]:
    """Yield a reason to doubt a join if its result repeats rows that should appear once."""
    if join.is_uncounted:
        yield f"{UNCOUNTED}, so they may repeat"
        return
    grain = grain_of([join])
    if grain is None:
        yield "many-to-many: rows of both tables repeat, so sums over the result are wrong"
    elif grain_of([join], exact=True) is None:
        yield f"the key has duplicates, so some rows of {grain} repeat"


def strength(joins: Sequence[Join]) -> float:
    """Return the strength of a chain of joins: the product of the joins' strengths, in [0, 1]."""
    return round(prod(join.strength for join in joins), STRENGTH_DIGITS)


def grain_of(joins: Sequence[Join], *, exact: bool = False) -> TableId | None:
    """Return the table whose rows do not repeat in the result of a chain; None if there is none."""
    # From this table, every join in either direction leads to at most one row or, unless `exact`,
    # to a key with a few duplicates.
    if count_grain_losses(joins):
        return None
    if not exact:
        return grain_of(joins, exact=True) or _grain(joins, exact=False)
    return _grain(joins, exact=True)


def _grain(joins: Sequence[Join], *, exact: bool) -> TableId | None:
    def leads_to_one(join: Join) -> bool:
        return not join.multiplies if exact else join.to_one

    last = [at for at, join in enumerate(joins) if not leads_to_one(join)][-1:]
    # Only the table behind the last join that repeats rows can be the grain.
    first = last[0] + 1 if last else 0
    tables = (joins[0].left.table, *(join.right.table for join in joins))
    is_grain = all(leads_to_one(join.reversed) for join in joins[:first])
    return tables[first] if is_grain else None


def count_grain_losses(joins: Sequence[Join]) -> int:
    """In a chain of joins, count the joins after which the rows of every table may repeat."""
    # Columns of one domain that have no duplicates today are not keys, and a key to which one row
    # refers today may have several.
    led_to_key, losses = False, 0
    for join in joins:
        losses += loses_grain(join, led_to_key=led_to_key)
        led_to_key = led_to_key or leads_to_key(join)
    return losses


def loses_grain(join: Join, *, led_to_key: bool) -> bool:
    """Return whether adding `join` to a chain of joins may duplicate the rows of every table."""
    return not join.is_reference or (leads_from_key(join) and (led_to_key or leads_to_key(join)))


def leads_to_key(join: Join) -> bool:
    """Return whether a join leads from rows to the key that they refer to."""
    return leads_from_key(join.reversed)


def leads_from_key(join: Join) -> bool:
    """Return whether a join leads from a key to the rows that refer to it."""
    # A join that matches several right rows counts, too.
    is_referenced = join.known_role is Role.REFERENCE and join.referenced == join.left
    return is_referenced or not join.to_one
