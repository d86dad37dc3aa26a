"""Which columns people would join on: complete enough, and made of identifiers.

The paper selects keys by "standard keyness heuristics" of completeness and uniqueness
(section 4.1, step 3). A foreign key repeats its values, so uniqueness is asked only of columns
with few values and of whole numbers whose name does not say that they identify something.
"""

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.names import tokens
from datahub_hyperjoin.tables import ColumnProfile, DataType

_IDENTIFIER_WORDS = frozenset(
    ["id", "ids", "identifier", "key", "code", "no", "nr", "nbr", "num", "number", "uuid", "guid"]
)


def is_key(profile: ColumnProfile, config: KeyConfig) -> bool:
    """Whether a column can be asked "what joins with you?".

    Args:
        profile: The column.
        config: The thresholds.

    Returns:
        True for short texts and for whole numbers that identify; dates, fractions, flags and
        prose are never keys.
    """
    unique = profile.uniqueness >= config.min_uniqueness
    complete = profile.completeness >= config.min_completeness
    if profile.distinct < config.min_distinct or not (complete or unique):
        return False
    if profile.type is DataType.TEXT:
        return profile.lengths.mean <= config.max_length
    if profile.type is DataType.INTEGER:
        named = not _IDENTIFIER_WORDS.isdisjoint(tokens(profile.id.path))
        return named or unique
    return False


def find_keys(lake: Lake, config: KeyConfig) -> Int[np.ndarray, " key"]:
    """The key columns of a lake, in its order.

    Args:
        lake: The columns.
        config: The thresholds.

    Returns:
        Places in `lake.profiles`.
    """
    return np.array(
        [place for place, profile in enumerate(lake.profiles) if is_key(profile, config)],
        dtype=np.int64,
    )
