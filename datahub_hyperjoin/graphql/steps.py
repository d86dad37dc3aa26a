"""A path of joins between two tables, and whether rows repeat in its result."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import join_with_and

STRENGTH_DIGITS = 12
"""Number of digits of a rounded product, few enough that the order of the factors has no effect."""


def strength(joins: Iterable[CatalogJoin]) -> float:
    """Return the strength of a chain of joins: the product of the joins' strengths, in [0, 1]."""
    return round(prod(join.strength for join in joins), STRENGTH_DIGITS)


def count_grain_losses(joins: Iterable[CatalogJoin]) -> int:
    """In a chain of joins, count the joins after which the rows of every table may repeat.

    The rows of one table stay unique while the chain follows keys: first from keys to the rows that
    refer to them, then from rows to the keys that they refer to. Columns of one domain that have no
    duplicates today are not keys, and a key to which one row refers today may have several.

    Args:
        joins: The joins in order, each with the table that it starts from on the left.
    """
    led_to_key, losses = False, 0
    for join in joins:
        losses += loses_grain(join, led_to_key=led_to_key)
        led_to_key = led_to_key or leads_to_key(join)
    return losses


def loses_grain(join: CatalogJoin, *, led_to_key: bool) -> bool:
    """Return whether adding `join` to a chain of joins may duplicate the rows of every table.

    A chain has led to a key if one of its joins led from rows to the key that they refer to.

    Args:
        led_to_key: Whether the chain already led from a row to a key.
    """
    return not join.is_reference or (leads_from_key(join) and (led_to_key or leads_to_key(join)))


def leads_to_key(join: CatalogJoin) -> bool:
    """Return whether a join leads from rows to the key that they refer to."""
    return leads_from_key(join.reversed)


def leads_from_key(join: CatalogJoin) -> bool:
    """Return whether a join leads from a key to the rows that refer to it.

    A join that matches several right rows counts, too.
    """
    is_referenced = join.role is Role.REFERENCE and join.referenced == join.left
    return is_referenced or not join.to_one


def _is_exact(join: CatalogJoin) -> bool:
    return not join.multiplies


def _is_to_one(join: CatalogJoin) -> bool:
    return join.to_one


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One join of a path, with alternative joins between the same two tables.

    The path reaches the left table first.
    """

    join: CatalogJoin
    """The join."""

    alternatives: tuple[CatalogJoin, ...] = ()
    """Other references between the same tables, such as `approved_by` beside `created_by`. They
    give other rows, so a person has to choose."""

    @property
    def multiplies_by(self) -> float | None:
        """Mean number of right rows for each left row; None if unknown."""
        return self.join.matches


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class JoinPath:
    """A path of joins between two tables."""

    steps: tuple[Step, ...]
    """At least one join, in order."""

    direct: tuple[CatalogJoin, ...] = ()
    """The best joins between the first and the last table of a path of several joins. The path
    avoids these joins because they follow no keys, or because nobody confirmed them."""

    rivals: tuple["JoinPath", ...] = ()
    """Other paths of as many joins over other tables, the best first and up to three. They give
    other rows, so a person has to choose."""

    def __str__(self) -> str:
        lines = [join.arrows for join in self.joins]
        sentences = [self.grain_in_words, *self.rivals_in_words]
        return "\n".join([*lines, *map(visible, sentences)])

    def __repr__(self) -> str:
        return f"<JoinPath: {', '.join(join.arrows for join in self.joins)}>"

    @property
    def joins(self) -> tuple[CatalogJoin, ...]:
        """The joins of the path, in order.

        The left table of each is the one that the path reaches first.
        """
        return tuple(step.join for step in self.steps)

    @property
    def tables(self) -> tuple[TableId, ...]:
        """The tables of the path, in order."""
        return (self.joins[0].left.table, *(join.right.table for join in self.joins))

    @property
    def strength(self) -> float:
        """The product of the strengths of the path's joins, in [0, 1]."""
        return strength(self.joins)

    @property
    def grain(self) -> TableId | None:
        """The table whose rows do not repeat in the result of the path; None if no table qualifies.

        From this table, every join in either direction leads to at most one row, or to a key with
        a few duplicates.

        Returns:
            None if the rows of every table may repeat, or the path does not follow keys.
        """
        return self._grain(_is_exact) or self._grain(_is_to_one)

    @property
    def is_safe(self) -> bool:
        """Whether each row of the `grain` table appears at most once in the joined result.

        Sums over columns of that table are then right.
        """
        return self._grain(_is_exact) is not None

    @property
    def grain_in_words(self) -> str:
        """A sentence that tells people which table's rows do not repeat in the result."""
        if self.grain is None:
            return "Rows of every table may repeat: do not sum over the result"
        few = "" if self.is_safe else ", and a few more: a key on the way has duplicates"
        return f"One row for each row of {self.grain} that matches{few}"

    @property
    def rivals_in_words(self) -> tuple[str, ...]:
        """Sentences that tell people which other paths are as short, and how their rows differ."""
        return tuple(
            f"Another path of {len(rival.joins)} joins gives other rows: {rival.arrows}. "
            f"{self.difference_in_words(rival)}"
            for rival in self.rivals
        )

    def difference_in_words(self, rival: "JoinPath") -> str:
        """Tell people how the rows of a rival differ from those of this path.

        Args:
            rival: Another path between the same tables.
        """
        own, other = self.tables[1:-1], rival.tables[1:-1]
        # Of the tables on the way, those that both paths have do not tell them apart.
        apart = (
            [table for table in own if table not in other],
            [table for table in other if table not in own],
        )
        ways = apart if all(apart) else (own, other)
        left, right = (join_with_and([table.name for table in way]) for way in ways)
        return f"{rival.grain_in_words}, by way of {right} instead of {left}"

    @property
    def arrows(self) -> str:
        """The joins of the path in one line, as in `a.b → b.id, then b.c → c.id`."""
        return ", then ".join(join.arrows for join in self.joins)

    def _grain(self, leads_to_one: Callable[[CatalogJoin], bool]) -> TableId | None:
        if count_grain_losses(self.joins):
            return None
        last = [at for at, join in enumerate(self.joins) if not leads_to_one(join)][-1:]
        # Only the table behind the last join that repeats rows can be the grain.
        first = last[0] + 1 if last else 0
        is_grain = all(leads_to_one(join.reversed) for join in self.joins[:first])
        return self.tables[first] if is_grain else None

    @property
    def multiplies_by(self) -> float | None:
        """Mean number of result rows for each row of the first table; None if unknown.

        It assumes that rows with many matches in one join have average numbers in the next one.
        """
        factors = [step.multiplies_by for step in self.steps]
        known = [factor for factor in factors if factor is not None]
        return prod(known) if len(known) == len(factors) else None
