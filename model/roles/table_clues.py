"""Collect clues that show whether two tables belong to the same database.

Lakes mix the tables of many systems. Tables of one system share a way to write names, a prefix,
and columns such as `created_by`; copies of a system share the number behind the name.
"""

import re
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

    def part(self, at: slice) -> "TableClues":
        """Return the clues of some of the pairs.

        Args:
            at: Their positions.
        """
        return TableClues(
            self.style[at],
            self.elsewhere[at],
            self.same_number[at],
            self.same_prefix[at],
            self.vocabulary[at],
        )


def _style(title: str) -> tuple[bool, ...]:
    return title.isupper(), title.islower(), "_" in title, " " in title


def _prefix(title: str) -> str:
    words = tokens(title)
    return words[0] if words[1:] else ""


def title_number(title: str) -> str:
    """Return the number at the end of a table's title.

    Such numbers tell copies of a database apart.

    Args:
        title: The title.

    Returns:
        The digits; empty if the title ends in none.
    """
    number = _SUFFIX.search(title)
    return number.group() if number else ""


def _numbered(names: list[str]) -> Int[np.ndarray, " table"]:
    return np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)[1]


def _vocabulary(lake: Lake, left: Tables, right: Tables) -> Clue:
    names = _numbered([profile.id.path for profile in lake.profiles])
    ones = np.ones(len(names))
    shape = (len(lake.titles), int(names.max(initial=0)) + 1)
    holds = sparse.csr_array((ones, (lake.table_of, names)), shape).sign().tocsr()
    # A column name that every table has, such as `id`, tells nothing.
    rarity = np.log(max(shape[0], 1) / np.maximum(np.asarray(holds.sum(axis=0)).ravel(), 1))
    weighted = sparse.csr_array(holds.multiply(rarity[None, :]))
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    products = row_products(weighted, weighted, left, right)
    return products / np.maximum(lengths[left] * lengths[right], 1e-9)


def compare_tables(lake: Lake, left: Tables, right: Tables) -> TableClues:
    """Collect clues that show whether tables `left[i]` and `right[i]` are in the same database.

    Args:
        lake: The columns with the titles of their tables.
        left: Tables of referring columns.
        right: Tables of keys.

    Returns:
        The clues of each pair.
    """
    # Many pairs of columns belong to the same two tables, which are compared once.
    count = len(lake.titles)
    distinct, inverse = np.unique(left * count + right, return_inverse=True)
    first, second = distinct // count, distinct % count
    style = np.array([_style(title) for title in lake.titles], dtype=bool).reshape(count, _STYLES)
    suffix = _numbered([title_number(title) for title in lake.titles])
    prefixes = [_prefix(title) for title in lake.titles]
    prefix, has_prefix = _numbered(prefixes), np.array([bool(p) for p in prefixes], dtype=bool)
    same_prefix = (prefix[first] == prefix[second]) & has_prefix[first]
    places = _numbered([table.parent if table else "" for table in lake.tables])
    return TableClues(
        elsewhere=(places[first] != places[second])[inverse].astype(np.float64),
        style=(style[first] != style[second]).sum(axis=1)[inverse].astype(np.float64),
        same_number=(suffix[first] == suffix[second])[inverse].astype(np.float64),
        same_prefix=same_prefix[inverse].astype(np.float64),
        vocabulary=_vocabulary(lake, first, second)[inverse],
    )
