"""Find pairs of columns whose names or folders suggest that one refers to the other.

In a large lake, a running number shares its values with thousands of other columns. Of so many
partners, the overlap keeps only some, and values alone don't tell which: hundreds hold all values.
The pairs of this module are measured in any case.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

import numpy as np
from jaxtyping import Bool, Int
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.named_keys import find_named_keys, large_folders
from datahub_hyperjoin.model.signals.stems import meaningful_words, stems
from datahub_hyperjoin.tables import ColumnProfile

_MOST_NEIGHBOURS, _MOST_NAMESAKES = 1024, 64
"""Maximum number of columns in a folder of which all pairs are measured, and of unique columns with
the same name or in tables of the same name. Larger groups of namesakes, such as all columns named
`remark`, form no pairs, because they say too little about joins. Only unique columns count, since
many columns with one name may all refer to one key."""
_MIN_UNIQUENESS = 0.95
"""Minimum uniqueness of a column that others refer to."""
_BLOCK = 2048
"""Number of columns paired at once, which bounds memory."""

_Columns = Int[np.ndarray, " pair"]
_Mask = Bool[np.ndarray, " column"]


def find_near_pairs(
    lake: Lake, chosen: _Mask, most_named: int
) -> Iterator[tuple[_Columns, _Columns]]:
    """Yield blocks of column pairs that have a name or folder in common.

    The two columns of a pair are in different tables. A unique column also has the name of its
    table, to which `customer_id` refers. In large folders, the most similar names are paired.

    Args:
        most_named: Maximum number of unique columns that are paired with each column of a large
            folder.

    Yields:
        Chosen columns, and their partners. One column of each pair is unique. Pairs may repeat.
    """
    is_unique = np.array([each.uniqueness >= _MIN_UNIQUENESS for each in lake.profiles], dtype=bool)
    for left, right in chain(
        _find_labelled(lake, chosen, is_unique),
        _find_in_large_folders(lake, chosen, is_unique, most_named),
    ):
        apart = lake.table_of[left] != lake.table_of[right]
        yield left[apart], right[apart]


def _find_in_large_folders(
    lake: Lake, chosen: _Mask, is_unique: _Mask, count: int
) -> Iterator[tuple[_Columns, _Columns]]:
    for folder in large_folders(lake, _MOST_NEIGHBOURS):
        keys = folder[is_unique[folder]]
        for left, right in find_named_keys(lake, folder[chosen[folder]], keys, count=count):
            # Texts hardly ever share a value with numbers or dates.
            alike = lake.is_text[left] == lake.is_text[right]
            yield left[alike], right[alike]


def _find_labelled(
    lake: Lake, chosen: _Mask, is_unique: _Mask
) -> Iterator[tuple[_Columns, _Columns]]:
    sought, borne = _label_columns(lake, is_unique)
    seekers, bearers = sought.T.tocsr(), borne.T.tocsr()
    columns = np.flatnonzero(chosen)
    for start in range(0, len(columns), _BLOCK):
        block = columns[start : start + _BLOCK]
        alike = (sought[block] @ bearers + borne[block] @ seekers).tocoo()
        left, right = block[alike.row], alike.col.astype(np.int64)
        once = (left < right) | ~chosen[right]
        yield left[once], right[once]


def _label_columns(lake: Lake, is_unique: _Mask) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Build a matrix of columns by the labels that they seek, and one by those that they bear.

    Labels are names of columns, names of tables, and folders. Only unique columns bear labels.
    Names of columns and of tables are counted apart: hundreds of unique columns may be called
    `customer_id`, but few of them are in a table of customers. Labels of too many columns are left
    out.
    """
    titles = ["".join(stems(title)) for title in lake.titles]
    columns = zip(lake.profiles, lake.table_of.tolist(), is_unique.tolist(), strict=True)
    names = [_names(profile, titles[table], unique=unique) for profile, table, unique in columns]
    # One matrix for both, so that a label has the same number in both.
    of_names = _incidence([*(sought for sought, _ in names), *(borne for _, borne in names)])
    sought, borne = of_names[: len(lake)], of_names[len(lake) :]
    of_folders = _incidence([{profile.id.table.place} for profile in lake.profiles])
    few_unique = borne.sum(axis=0) <= _MOST_NAMESAKES
    few = of_folders.sum(axis=0) <= _MOST_NEIGHBOURS
    of_folders = of_folders[:, few]
    return (
        sparse.hstack([sought[:, few_unique], of_folders], format="csr"),
        sparse.hstack(
            [borne[:, few_unique], of_folders.multiply(is_unique[:, None])], format="csr"
        ),
    )


def _names(
    profile: ColumnProfile, title: str, *, unique: bool
) -> tuple[AbstractSet[str], AbstractSet[str]]:
    """Return the names that a column seeks, and those that it bears.

    They consist of joined stems. Words such as `id` are dropped, so a column named `id` has only
    the title of its table, if any.
    """
    own = "".join(meaningful_words(stems(profile.id.path)))
    of_column = {f"column {own}"} if own else set()
    of_table = {f"table {title}"} if title and unique else set()
    sought = of_column | of_table | ({f"table {own}"} if own else set())
    return sought, of_column | of_table if unique else set()


def _incidence(held: Sequence[AbstractSet[str]]) -> sparse.csr_array:
    """Return a matrix of columns by labels: 1 where a column has a label."""
    numbers: dict[str, int] = {}
    listed = [
        numbers.setdefault(label, len(numbers)) for labels in held for label in sorted(labels)
    ]
    bounds = np.concatenate([[0], np.cumsum([len(labels) for labels in held])])
    ones = np.ones(len(listed), dtype=np.int32)
    return sparse.csr_array((ones, listed, bounds), (len(held), max(len(numbers), 1)))
