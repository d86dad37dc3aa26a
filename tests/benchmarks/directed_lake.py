"""Read the declared references of a labelled lake, including their direction."""

import csv
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake, read_labelled_lake

_EITHER_WAY = {"either", "neither_unique"}
"""Directions in `references.csv` which mean that either column may be the referring one."""

Directed = tuple[ColumnName, ColumnName]
"""A referring column, and the key that it refers to."""


@dataclass(frozen=True)
class DirectedLake:
    """A labelled lake that also knows the direction of its declared references."""

    labelled: LabelledLake
    """The query columns, and the columns that join with each of them."""

    directions: Mapping[Directed, str]
    """For each declared reference, the direction that its rows suggest, as in `references.csv`."""

    def as_declared(self, pair: Directed) -> Directed:
        """Return a pair in the direction in which it is declared.

        A pair is reversed only if both directions count as right.

        Args:
            pair: A referring column, then the referenced one.
        """
        declared = self.directions.get((pair[1], pair[0]), "") in _EITHER_WAY
        return (pair[1], pair[0]) if declared and pair not in self.directions else pair

    def is_reference(self, pair: Directed) -> bool:
        """Return whether a pair is a declared reference in the right direction.

        Args:
            pair: The referring column, then the referenced one.
        """
        return self.as_declared(pair) in self.directions

    @cached_property
    def implied(self) -> frozenset[Directed]:
        """Undeclared references: if a column joins with a foreign key, both refer to the same key.

        Two columns that join and do not refer to each other refer to the same key. A query column's
        own reference is declared, so if it refers to one key alone, that is the key.
        """
        keys: defaultdict[ColumnName, set[ColumnName]] = defaultdict(set)
        for referring, referenced in self.directions:
            keys[referring].add(referenced)
        return frozenset(
            (other, key)
            for column, (key, *further) in keys.items()
            for other in self.labelled.truth.get(column, ())
            if not further and {(column, other), (other, column)}.isdisjoint(self.directions)
        )

    def is_true(self, pair: Directed) -> bool:
        """Return whether two columns join according to the ground truth.

        Args:
            pair: Two columns in any order, of which at least one is a query column.
        """
        truth = self.labelled.truth
        return pair[1] in truth.get(pair[0], ()) or pair[0] in truth.get(pair[1], ())

    def is_judged(self, pair: Directed) -> bool:
        """Return whether the ground truth is complete for a pair.

        It is if one of the columns is a query column.

        Args:
            pair: Two columns in any order.
        """
        return any(column in self.labelled.truth for column in pair)


def read_directed_lake(folder: Path) -> DirectedLake:
    """Read a labelled lake and its declared references from a folder.

    Args:
        folder: The folder of the lake.

    Raises:
        LabelledLakeError: The folder is no labelled lake.
    """
    with (folder / "references.csv").open(encoding="utf-8", newline="") as file:
        directions = {
            (
                ColumnName(row["from_table"], row["from_column"]),
                ColumnName(row["to_table"], row["to_column"]),
            ): row["direction"]
            for row in csv.DictReader(file)
        }
    return DirectedLake(read_labelled_lake(folder), directions)
