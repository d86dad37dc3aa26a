"""The error of a search for a path of joins."""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError
from datahub_hyperjoin.wording import name_some


class NoPathError(CatalogError, LookupError):
    """No path of joins connects two tables."""

    def __init__(self, message: str, *, reason: str = "", direct: Sequence[str] = ()) -> None:
        """Store the message, and two parts of it: the reason, and the direct joins of both tables.

        The page shows these two without the options of the command that the message proposes.
        """
        super().__init__(message)
        self.reason = reason
        self.direct = tuple(direct)

    @classmethod
    def without_grain(
        cls, start: str, end: str, *, via: Sequence[str], most: int | None, direct: Sequence[str]
    ) -> Self:
        way = f" by way of {name_some([*map(repr, via)])}" if via else ""
        limit = f" of at most {most} joins" if most else ""
        reason = (
            f"no safe path{limit} is known between {start!r} and {end!r}: the best one{way} "
            "does not follow keys, so it may pair rows that have nothing to do with each other"
        )
        hint = "Add `--many-to-many` to see it, or accept a join that leads to a key"
        return cls(f"{reason}. {_beside(direct)}{hint}", reason=reason, direct=direct)

    @classmethod
    def improbable(
        cls, start: str, end: str, *, joins: int, of: float, direct: Sequence[str]
    ) -> Self:
        together = f" for all {joins} joins together" if joins > 1 else ""
        reason = (
            f"no safe path is known between {start!r} and {end!r}: the best one has a joinability "
            f"of only {of:.2f}{together}"
        )
        hint = "Lower `--min-joinability` to see it, and accept the joins that are right"
        return cls(f"{reason}. {_beside(direct)}{hint}", reason=reason, direct=direct)

    @classmethod
    def between(cls, start: str, end: str, *, most: int | None, by_column: bool = False) -> Self:
        limit = f" of at most {most} joins" if most else ""
        reason = f"no path{limit} connects {start!r} and {end!r}"
        joins = "list the joins of each table with `hyperjoin joins --dataset`"
        longer = ["raise `--max-hops`"] if most else []
        wider = ["name tables without a column"] if by_column else []
        hint = ", or ".join([*longer, *wider, f"{joins}, and accept those that are right"])
        return cls(f"{reason}. {hint[0].upper()}{hint[1:]}", reason=reason)


def _beside(direct: Sequence[str]) -> str:
    return f"The tables are joined directly by {'; '.join(direct)}. " if direct else ""
