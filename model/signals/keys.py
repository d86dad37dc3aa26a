"""Which columns people would join on: complete enough, and made of identifiers.

The paper selects keys by "standard keyness heuristics" of completeness and uniqueness
(section 4.1, step 3). A foreign key repeats its values, so uniqueness is asked only of columns
with few values and of whole numbers whose name does not say that they identify something. What is
declared unique, or connected with another column, needs no heuristics.
"""

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, tokens
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.tables import ColumnProfile, DataType


def is_key(
    profile: ColumnProfile, config: KeyConfig, *, uniqueness: float, completeness: float
) -> bool:
    """Whether a column can be asked "what joins with you?".

    Args:
        profile: The column.
        config: The thresholds.
        uniqueness: Distinct values per row with a value, in [0, 1].
        completeness: Share of rows with a value, in [0, 1].

    Returns:
        True for short texts and for whole numbers that identify; dates, fractions, flags and
        prose are never keys.
    """
    unique = uniqueness >= config.min_uniqueness
    complete = completeness >= config.min_completeness
    if profile.distinct < config.min_distinct or not (complete or unique):
        return False
    if profile.type is DataType.TEXT:
        return profile.lengths.mean <= config.max_length
    if profile.type is DataType.INTEGER:
        named = not IDENTIFIER_WORDS.isdisjoint(tokens(profile.id.path))
        return named or unique
    return False


def find_keys(lake: Lake, config: KeyConfig, known: CatalogPriors) -> Int[np.ndarray, " key"]:
    """The key columns of a lake, in its order.

    Args:
        lake: The columns.
        config: The thresholds.
        known: How unique and complete columns are in the whole table, and which are keys anyway.

    Returns:
        Places in `lake.profiles`.
    """
    chosen = np.zeros(len(lake), dtype=bool)
    chosen[known.identifying] = chosen[known.connected.left] = True
    measured = zip(lake.profiles, known.uniqueness, known.completeness, strict=True)
    for place, (profile, uniqueness, completeness) in enumerate(measured):
        chosen[place] |= is_key(
            profile, config, uniqueness=float(uniqueness), completeness=float(completeness)
        )
    return np.flatnonzero(chosen)
