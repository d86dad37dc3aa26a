"""Read what a person wrote about the lakes: the expected joins, the traps, and verdicts on joins.

`expected.csv` was written from headers, samples and documentation, before any output was seen.
Lines of one number are alternatives, of which one is enough, and `*` in a name stands for several
tables, of which each counts its share. Columns of a join of several are separated by ` + `.

`read.csv` judges joins that a run listed:

- `useful`: somebody who knows the data would use it
- `no-use`: both columns mean the same, but nobody would join on them, because a better key joins
  the tables, both sides repeat, or both are mere days, names or counts of one kind
- `wrong`: the values are equal by chance, or mean another thing
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path

FOLDER = Path(__file__).parent

End = tuple[str, str]
"""A table and one of its columns."""

ReadJoin = frozenset[frozenset[End]]
"""The pairs of columns of a join, in no order."""

TRAP = "trap"
"""Kind of the listed pairs that share values, but no sense."""


class Verdict(Enum):
    """What a reader thinks of a join."""

    USEFUL = "useful"
    NO_USE = "no-use"
    WRONG = "wrong"
    UNLABELLED = "unlabelled"


@dataclass(frozen=True)
class ExpectedJoin:
    """A join that a reader expects, or a trap."""

    kind: str
    alternatives: tuple[ReadJoin, ...]
    """The forms of the join; names of tables may have `*`."""

    def share(self, joins: Iterable[ReadJoin], tables: Iterable[str]) -> float:
        """Return the share of the tables named by `*` that have the join; without `*`, 0 or 1.

        Args:
            joins: The joins of a run.
            tables: The names of its tables.
        """
        listed, names = set(joins), [*tables]
        wide = sorted(
            {end[0] for pairs in self.alternatives for end in _ends(pairs) if "*" in end[0]}
        )
        if not wide:
            return float(any(pairs in listed for pairs in self.alternatives))
        [pattern] = wide
        named = [name for name in names if fnmatchcase(name, pattern)]
        forms = ([_renamed(pairs, pattern, name) for pairs in self.alternatives] for name in named)
        found = [any(pairs in listed for pairs in form) for form in forms]
        return sum(found) / max(1, len(found))


def _ends(pairs: ReadJoin) -> list[End]:
    return [end for pair in pairs for end in pair]


def _renamed(pairs: ReadJoin, pattern: str, name: str) -> ReadJoin:
    return frozenset(
        frozenset((name if table == pattern else table, column) for table, column in pair)
        for pair in pairs
    )


def read_expected(lake: str, path: Path = FOLDER / "expected.csv") -> list[ExpectedJoin]:
    """Read the joins and traps that are listed for a lake."""
    kinds: dict[str, str] = {}
    forms: dict[str, list[ReadJoin]] = defaultdict(list)
    for row in _rows(path, lake):
        kinds[row["join"]] = row["kind"]
        forms[row["join"]].append(_join(row))
    return [ExpectedJoin(kind, tuple(forms[number])) for number, kind in kinds.items()]


def read_verdicts(lake: str, path: Path = FOLDER / "read.csv") -> dict[ReadJoin, Verdict]:
    """Read the verdicts on joins of a lake."""
    return {_join(row): Verdict(row["verdict"]) for row in _rows(path, lake)}


def _rows(path: Path, lake: str) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["lake"] == lake]


def _join(row: Mapping[str, str]) -> ReadJoin:
    left, right = (
        [(row[side], column) for column in row[f"{side}_columns"].split(" + ")]
        for side in ("left", "right")
    )
    return frozenset(map(frozenset, zip(left, right, strict=True)))
