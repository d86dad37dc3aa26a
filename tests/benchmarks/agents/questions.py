"""Draw questions about which columns join two tables, from a list of known joins."""

import csv
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId

_PLATFORM = "file"
_Pair = tuple[ColumnId, ColumnId]


@dataclass(frozen=True)
class Question:
    """A question for an agent: which join connects two tables?"""

    first: TableId
    """The table from which the agent starts."""

    second: TableId
    """The table that the agent must join with the first one."""

    needed: frozenset[_Pair]
    """The columns that join, those of the first table first; all of them are needed."""

    @property
    def urn(self) -> str:
        """URN of the dataset from which the agent starts."""
        return dataset_urn(self.first)


def read_references(file: Path) -> list[_Pair]:
    """Read the declared keys of a labelled lake.

    Args:
        file: The lake's `references.csv`; its tables are CSV files.
    """
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            (
                _column(f"{row['from_table']}.csv", row["from_column"]),
                _column(f"{row['to_table']}.csv", row["to_column"]),
            )
            for row in csv.DictReader(lines)
        ]


def read_known_joins(file: Path) -> list[_Pair]:
    """Read the quick start's known joins, which were listed before any output was seen.

    Args:
        file: The list, `tests/known_joins.csv`.
    """
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            (
                _column(row["query_table"], row["query_column"]),
                _column(row["candidate_table"], row["candidate_column"]),
            )
            for row in csv.DictReader(lines)
        ]


def draw_questions(pairs: Iterable[_Pair], *, count: int, seed: int) -> Sequence[Question]:
    """Draw pairs of tables to ask about, and for each pair the table from which the agent starts.

    Args:
        pairs: The known joins, in any direction.
        count: Number of questions; fewer if fewer pairs of tables join.
        seed: Decides the draw.
    """
    joined: dict[tuple[TableId, TableId], set[_Pair]] = defaultdict(set)
    for pair in pairs:
        one, other = sorted(pair)
        if one.table != other.table:
            joined[one.table, other.table].add((one, other))
    draw = random.Random(seed)  # noqa: S311 - draws a sample, no secret
    tables = sorted(joined)
    drawn = draw.sample(tables, min(count, len(tables)))
    return [_ask(joined[each], swap=draw.random() < 1 / 2) for each in drawn]


def _ask(joined: Iterable[_Pair], *, swap: bool) -> Question:
    needed = frozenset((other, one) if swap else (one, other) for one, other in joined)
    first, second = next(iter(needed))
    return Question(first.table, second.table, needed)


def _column(table: str, path: str) -> ColumnId:
    return ColumnId(TableId(_PLATFORM, table), path)
