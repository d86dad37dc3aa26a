"""Collect clues whether two tables belong to the same database.

Lakes mix the tables of many systems. Tables of one system share a way to write names, a prefix,
and columns such as `created_by`; copies of a system share the number behind the name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.name_clues import Clue
from datahub_hyperjoin.model.signals.names import tokens
from datahub_hyperjoin.model.signals.row_products import row_products

_SUFFIX = re.compile(r"\d+$")

_STYLES = 4
"""Number of yes-or-no properties that describe how a name is written, such as all capitals."""

Tables = Int[np.ndarray, " pair"]


@dataclass(frozen=True)
class TableClues:
    """Clues that show whether the two tables of each pair belong to the same database."""

    style: Clue
    """Number of differences in the way the names of both tables are written, from 0 to 4."""

    elsewhere: Clue
    """1 if the tables are in different folders or schemas."""

    same_number: Clue
    """1 if both names end in the same number, or if neither ends in a number."""

    same_prefix: Clue
    """1 if both names start with the same word."""

    vocabulary: Clue
    """Cosine of the sets of column names, weighted by their rarity, in [0, 1]."""


def _style(title: str) -> tuple[bool, ...]:
    return title.isupper(), title.islower(), "_" in title, " " in title


def _prefix(title: str) -> str:
    words = tokens(title)
    return words[0] if words[1:] else ""


def title_number(title: str) -> str:
    """Return the number at the end of a table's title.

    Such numbers tell copies of a database apart.
    """
    number = _SUFFIX.search(title)
    return number.group() if number else ""


def _numbered(names: Sequence[str]) -> Int[np.ndarray, " table"]:
    return np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)[1]


class TableComparison:
    """An object that collects the clues of two tables."""

    def __init__(self, lake: Lake) -> None:
        count = len(lake.titles)
        styles = [_style(title) for title in lake.titles]
        self._style = np.array(styles, dtype=bool).reshape(count, _STYLES)
        self._suffix = _numbered([title_number(title) for title in lake.titles])
        prefixes = [_prefix(title) for title in lake.titles]
        self._prefix = _numbered(prefixes)
        self._has_prefix = np.array([bool(prefix) for prefix in prefixes], dtype=bool)
        self._place = _numbered(lake.places)
        self._vocabulary = _weigh_vocabulary(lake)
        squares = self._vocabulary.multiply(self._vocabulary)
        self._lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())

    def of(self, left: Tables, right: Tables) -> TableClues:
        """Collect clues whether tables `left[i]` and `right[i]` are in one database."""
        # Many pairs of columns belong to the same two tables, which are compared once.
        count = len(self._style)
        distinct, inverse = np.unique(left * count + right, return_inverse=True)
        first, second = distinct // count, distinct % count
        place, suffix, prefix, style = self._place, self._suffix, self._prefix, self._style
        same_prefix = (prefix[first] == prefix[second]) & self._has_prefix[first]
        return TableClues(
            elsewhere=(place[first] != place[second])[inverse].astype(np.float64),
            style=(style[first] != style[second]).sum(axis=1)[inverse].astype(np.float64),
            same_number=(suffix[first] == suffix[second])[inverse].astype(np.float64),
            same_prefix=same_prefix[inverse].astype(np.float64),
            vocabulary=self._compare_vocabulary(first, second)[inverse],
        )

    def _compare_vocabulary(self, left: Tables, right: Tables) -> Clue:
        products = row_products(self._vocabulary, self._vocabulary, left, right)
        return products / np.maximum(self._lengths[left] * self._lengths[right], 1e-9)


def _weigh_vocabulary(lake: Lake) -> sparse.csr_array:
    """Return a matrix of tables by column names: the rarity of each name that a table has."""
    names = _numbered([profile.id.path for profile in lake.profiles])
    ones = np.ones(len(names))
    shape = (len(lake.titles), int(names.max(initial=0)) + 1)
    holds = sparse.csr_array((ones, (lake.table_of, names)), shape).sign().tocsr()
    # A column name that every table has, such as `id`, tells nothing.
    rarity = np.log(max(shape[0], 1) / np.maximum(np.asarray(holds.sum(axis=0)).ravel(), 1))
    return sparse.csr_array(holds.multiply(rarity[None, :]))
