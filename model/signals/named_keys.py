"""Find the unique columns of a large folder or schema that other columns may be named after.

A schema of hundreds of tables has too many pairs of columns to measure all of them, and running
numbers share their values with hundreds of keys. A reference mostly has the name of a table, or a
part of it: `rack.role_id` refers to `rack_role`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import faiss
import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import NameSimilarity
from datahub_hyperjoin.model.signals.stems import meaningful_words, stems

_BLOCK = 4096
"""Number of columns whose keys are searched at once, which bounds memory."""


def large_folders(lake: Lake, above: int) -> Iterator[Int[np.ndarray, " column"]]:
    """Yield the columns of each folder or schema that has more columns than `above`."""
    folders: dict[str, list[int]] = defaultdict(list)
    for column, profile in enumerate(lake.profiles):
        folders[profile.id.table.place].append(column)
    yield from (np.array(columns) for columns in folders.values() if len(columns) > above)


def find_named_keys(
    lake: Lake,
    seeking: Int[np.ndarray, " seeking"],
    keys: Int[np.ndarray, " key"],
    *,
    count: int,
) -> Iterator[tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]]:
    """For each seeking column, find the keys with the most similar names.

    A key goes by the names of its table and column. A seeking column is compared with both by its
    own name, and by that of its table and its own.

    Args:
        seeking: The columns that may refer to a key.
        count: Number of keys to find for each column, some of them in its own table.
    """
    most = min(count, len(keys))
    if not most or not len(seeking):
        return
    of_seeking, of_keys = _names(lake, seeking), _names(lake, keys)
    whole_names = (*_whole(lake, seeking, of_seeking), *_whole(lake, keys, of_keys))
    vectors = NameSimilarity([*of_seeking, *whole_names]).vectors()
    own, whole, borne = np.split(vectors, [len(seeking), 2 * len(seeking)])
    for start in range(0, len(seeking), _BLOCK):
        some = slice(start, start + _BLOCK)
        sought = own[some] + whole[some]
        _, near = faiss.knn(sought, borne, most, metric=faiss.METRIC_INNER_PRODUCT)
        yield np.repeat(seeking[some], most), keys[near.ravel()]


def _names(lake: Lake, columns: Int[np.ndarray, " column"]) -> list[str]:
    words = (meaningful_words(stems(lake.profiles[column].id.path)) for column in columns.tolist())
    return [" ".join(each) for each in words]


def _whole(lake: Lake, columns: Int[np.ndarray, " column"], names: Sequence[str]) -> Iterator[str]:
    """Yield the names of columns, each after that of its table."""
    for table, name in zip(lake.table_of[columns].tolist(), names, strict=True):
        yield f"{' '.join(stems(lake.titles[table]))} {name}"
