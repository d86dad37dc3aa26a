"""Select the key columns of a lake, which people would use in joins.

The paper selects keys by "standard keyness heuristics" of completeness and uniqueness (section 4.1,
step 3). Both are too strict for a foreign key, which repeats its values: a text column needs only
one of them, and a whole-number column whose name marks an identifier needs no uniqueness. Columns
that the catalog declares unique or connects with another column are keys without any heuristics.
"""

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, tokens
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.tables import ColumnProfile, DataType

_MIN_DISTINCT = 3
"""Minimum number of distinct values of a key column."""
_MAX_LENGTH = 64.0
"""Maximum mean length of a key column's values, in characters; longer text is prose."""


def is_key(
    profile: ColumnProfile, config: KeyConfig, *, uniqueness: float, completeness: float
) -> bool:
    """Return whether a column is a key column.

    Its type, completeness, uniqueness and length decide.

    Args:
        profile: The column.
        config: The thresholds.
        uniqueness: Distinct values per row with a value, in [0, 1].
        completeness: Share of rows with a value, in [0, 1].

    Returns:
        True for short texts and for whole numbers that identify; dates, fractions, flags and prose
        are never keys. Where no row was read, a name with a word such as `id`, or the first
        position, makes a column a key.
    """
    named_identifier = not IDENTIFIER_WORDS.isdisjoint(tokens(profile.id.path))
    if not profile.rows:  # Nothing but the name and the declared type is known.
        first = profile.position == 0
        return profile.type in {DataType.TEXT, DataType.INTEGER} and (named_identifier or first)
    unique = uniqueness >= config.min_uniqueness
    complete = completeness >= config.min_completeness
    if profile.distinct < _MIN_DISTINCT or not (complete or unique):
        return False
    if profile.type is DataType.TEXT:
        return profile.lengths.mean <= _MAX_LENGTH
    # Measures such as seats or ages repeat as foreign keys do; only the name tells them apart.
    if profile.type is DataType.INTEGER:
        return named_identifier or unique
    return False


def find_keys(lake: Lake, config: KeyConfig, priors: CatalogPriors) -> Int[np.ndarray, " key"]:
    """Find the key columns of a lake.

    Args:
        lake: The columns.
        config: The thresholds.
        priors: Uniqueness and completeness of each column in the whole table, and the columns that
            the catalog makes keys.

    Returns:
        Indices of the key columns, ascending.
    """
    chosen = np.zeros(len(lake), dtype=bool)
    chosen[priors.declared_unique] = chosen[priors.connected.left] = True
    measures = zip(lake.profiles, priors.uniqueness, priors.completeness, strict=True)
    for column, (profile, uniqueness, completeness) in enumerate(measures):
        chosen[column] |= is_key(
            profile, config, uniqueness=float(uniqueness), completeness=float(completeness)
        )
    return np.flatnonzero(chosen)
