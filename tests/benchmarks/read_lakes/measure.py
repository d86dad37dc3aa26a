"""Compare the joins that a run lists with what a person wrote about the lake."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.read_lakes.lists import (
    TRAP,
    ExpectedJoin,
    ReadJoin,
    Verdict,
    read_expected,
    read_verdicts,
)
from datahub_hyperjoin import find_joins
from datahub_hyperjoin.joins import Role

_READ = 40
"""Number of joins from the top, and at random, whose verdicts count."""

_FIRST = 5
"""Number of joins of a column that a reader looks at."""


@dataclass(frozen=True)
class ListedJoin:
    """A join in the order of the output."""

    pairs: ReadJoin
    role: Role
    sisters: bool
    """Whether both tables have the same header, as those of two years."""

    def __str__(self) -> str:
        sides = sorted(sorted(pair) for pair in self.pairs)
        return " and ".join(" = ".join(map(".".join, pair)) for pair in sides)


@dataclass(frozen=True)
class Reading:
    """How the output of a lake reads."""

    lake: str
    tables: int
    joins: tuple[ListedJoin, ...]
    top: Counter[Verdict]
    drawn: Counter[Verdict]
    recall: float
    """The share of the expected joins that are listed."""

    first: float
    """The share that are among the first joins of one of their columns."""

    traps: float
    missing: tuple[ExpectedJoin, ...]
    verdicts: Mapping[ReadJoin, Verdict]

    def verdict(self, join: ListedJoin) -> Verdict:
        """Return what the reader thinks of a join."""
        return self.verdicts.get(join.pairs, Verdict.UNLABELLED)

    @property
    def kinds(self) -> Counter[str]:
        """The number of joins of each role, and those between tables of one header."""
        counts = Counter(join.role.value for join in self.joins)
        counts["sisters"] = sum(join.sisters for join in self.joins)
        return counts


def read_lake(folder: Path, *, seed: int = 7) -> Reading:
    """Find the joins of a lake, and compare them with its lists.

    Args:
        folder: The lake, called as in the lists.
        seed: Draws the joins at random.
    """
    found = find_joins(folder, sql=False)
    joins = tuple(
        ListedJoin(
            frozenset(
                frozenset((column.table.name, column.path) for column in pair)
                for pair in join.pairs
            ),
            join.role,
            len({_header(folder / column.table.name) for column in join.pairs[0]}) == 1,
        )
        for join in found.joins
    )
    return judge(folder.name, found.tables, joins, seed=seed)


def _header(file: Path) -> bytes:
    with file.open("rb") as lines:
        return lines.readline()


def judge(
    lake: str,
    tables: Sequence[str],
    joins: Sequence[ListedJoin],
    *,
    expected: Sequence[ExpectedJoin] | None = None,
    verdicts: Mapping[ReadJoin, Verdict] | None = None,
    seed: int,
) -> Reading:
    """Compare listed joins with the lists of a lake.

    Args:
        lake: Name of the lake.
        tables: Names of its tables.
        joins: The joins, in the order of the output.
        expected: The expected joins and traps; by default, those of `expected.csv`.
        verdicts: Verdicts on joins; by default, those of `read.csv`.
        seed: Draws the joins at random.
    """
    expected = read_expected(lake) if expected is None else expected
    verdicts = read_verdicts(lake) if verdicts is None else verdicts
    listed = [join.pairs for join in joins]
    wanted = [one for one in expected if one.kind != TRAP]
    traps = [one for one in expected if one.kind == TRAP]
    drawn = np.random.default_rng(seed).permutation(len(joins))[:_READ]
    return Reading(
        lake=lake,
        tables=len(tables),
        joins=tuple(joins),
        top=_count(verdicts, listed[:_READ]),
        drawn=_count(verdicts, [listed[at] for at in drawn.tolist()]),
        recall=_mean(one.share(listed, tables) for one in wanted),
        first=_mean(one.share(_first(listed), tables) for one in wanted),
        traps=sum(one.share(listed, tables) for one in traps),
        missing=tuple(one for one in wanted if one.share(listed, tables) < 1),
        verdicts=verdicts,
    )


def _count(verdicts: Mapping[ReadJoin, Verdict], joins: Iterable[ReadJoin]) -> Counter[Verdict]:
    return Counter(verdicts.get(join, Verdict.UNLABELLED) for join in joins)


def _mean(shares: Iterable[float]) -> float:
    values = [*shares]
    return sum(values) / max(1, len(values))


def _first(joins: Iterable[ReadJoin]) -> list[ReadJoin]:
    """Return the joins that are among the first of one of their columns."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    first = []
    for join in joins:
        ends = {end for pair in join for end in pair}
        if any(seen[end] < _FIRST for end in ends):
            first.append(join)
        for end in ends:
            seen[end] += 1
    return first
