"""Order the columns of each table by how much they look like its key.

People mostly write the key first. That order is lost as soon as somebody exports the columns in
another one, so values and names take its place.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.roles.property_names import names_label
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS
from datahub_hyperjoin.model.signals.stems import meaningful_words, stems
from datahub_hyperjoin.tables import ColumnProfile, DataType

_UNIQUE = 0.999
"""Minimum uniqueness and completeness of a key. It is below 1 because uniqueness may be an
estimate."""
_SUREST = frozenset({"id", "ids", "identifier", "key", "uuid", "guid"})
"""Words that mark the keys of most tables; `code` and the like also mark other columns."""
_SHORTEST = 2
"""Minimum number of letters of a word that abbreviates a word of the table's name."""
_MAX_LENGTH = 64.0
"""Maximum mean length of a key's values, in characters; longer text is prose."""
_WORDS = frozenset({DataType.TEXT, DataType.DATE, DataType.TIMESTAMP})
"""The types of columns that are rarely measures."""


def rank_by_standing(
    profiles: Sequence[ColumnProfile], titles: Sequence[str], table_of: Int[np.ndarray, " column"]
) -> Int[np.ndarray, " column"]:
    """For each column, count the columns of its table that look more like the table's key.

    Unique and complete columns come first. Of these, and of the others, first come those that are
    called `id` or named after the table, then those with a word such as `id` or `code`, then other
    texts and days, then other whole numbers, which are often measures, then labels such as `title`;
    of these, the shortest values.
    """
    tables = [{*stems(title)} for title in titles]
    owners = zip(table_of.tolist(), profiles, strict=True)
    standing = [(table, *_standing(profile, tables[table])) for table, profile in owners]
    ordered = sorted(range(len(profiles)), key=standing.__getitem__)
    owner = table_of[ordered]
    ranks = np.empty(len(profiles), dtype=np.int64)
    ranks[ordered] = np.arange(len(profiles)) - np.searchsorted(owner, owner)
    return ranks


def _standing(profile: ColumnProfile, table: set[str]) -> tuple[object, ...]:
    """Return a sort key for the columns of a table, whose title has the given stems."""
    words = stems(profile.id.path)
    meant = meaningful_words(words)
    is_own = bool(words) and {*meant} <= table
    is_similar = bool(words) and all(_abbreviates(word, table) for word in meant)
    is_marked = not IDENTIFIER_WORDS.isdisjoint(words)
    is_unique = profile.uniqueness >= _UNIQUE and profile.completeness >= _UNIQUE
    is_word = profile.type in _WORDS and profile.lengths.mean <= _MAX_LENGTH
    return (
        not is_unique,
        not (is_word or profile.type is DataType.INTEGER),
        not is_own,
        not is_similar,
        _SUREST.isdisjoint(words),
        not is_marked,
        names_label(words),
        not (is_marked or is_word),
        profile.lengths.mean,
        -profile.distinct,
        profile.id.path,
    )


def _abbreviates(word: str, table: set[str]) -> bool:
    return len(word) >= _SHORTEST and any(name.startswith(word) for name in table)
