"""Select the key columns of a lake: the columns that people would join on.

The paper selects keys by "standard keyness heuristics" of completeness and uniqueness (section 4.1,
step 3). Both are too strict for a foreign key, which repeats its values: a text column needs only
one of them, and a whole-number column whose name marks an identifier needs no uniqueness. Columns
that the catalog declares unique or connects with another column are keys without any heuristics.
"""

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, name_words
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.tables import ColumnProfile, DataType

_MIN_DISTINCT = 3
"""Minimum number of distinct values of a key column."""
_MAX_LENGTH = 64.0
"""Maximum mean length of a key column's values, in characters; longer text is prose."""


def find_obstacle(
    profile: ColumnProfile,
    config: KeyConfig,
    *,
    standing: int,
    uniqueness: float,
    completeness: float,
) -> str:
    """Return the reason why a column is not a key column; empty if it is a key column.

    Its type, completeness, uniqueness and length decide. Short texts are key columns, and so are
    whole numbers that identify; dates, fractions, flags and prose are none. Where no row was read,
    a column with a word such as `id` in its name is one, and so is the one of its table that looks
    most like a key.

    Args:
        standing: Number of columns of the same table that look more like its key.
        uniqueness: Distinct values per row with a value, in [0, 1].
        completeness: Share of rows with a value, in [0, 1].
    """
    named_identifier = not IDENTIFIER_WORDS.isdisjoint(name_words(profile.id.path))
    has_type = profile.type in {DataType.TEXT, DataType.INTEGER}
    if not profile.rows:  # Nothing but the name and the declared type is known.
        known = has_type and (named_identifier or standing == 0)
        return "" if known else "no row was read, and its name is not that of an identifier"
    few = profile.distinct < _MIN_DISTINCT
    if few or not has_type:
        values = f"it has {profile.distinct} of at least {_MIN_DISTINCT} distinct values"
        types = f"its type is {profile.type.value}, and key columns are texts and whole numbers"
        return values if has_type else types
    unique = uniqueness >= config.min_uniqueness
    if not unique and completeness < config.min_completeness:
        return (
            f"it is filled in {completeness:.0%} of the rows, which is below "
            f"`model.keys.min_completeness` {config.min_completeness:g}"
        )
    if profile.type is DataType.TEXT:
        mean = f"{profile.lengths.mean:.0f}"
        prose = f"its texts have {mean} characters on average, and a key column's at most"
        return f"{prose} {_MAX_LENGTH:.0f}" if profile.lengths.mean > _MAX_LENGTH else ""
    # Measures such as seats or ages repeat as foreign keys do; only the name tells them apart.
    if named_identifier or unique:
        return ""
    return (
        f"its whole numbers repeat (uniqueness {uniqueness:.2f} is below "
        f"`model.keys.min_uniqueness` {config.min_uniqueness:g}), and its name has no word such "
        "as `id`"
    )


def find_keys(lake: Lake, config: KeyConfig, priors: CatalogPriors) -> Int[np.ndarray, " key"]:
    """Find the key columns of a lake.

    Args:
        priors: Uniqueness and completeness of each column in the whole table, and the columns that
            the catalog makes keys.
    """
    chosen = np.zeros(len(lake), dtype=bool)
    chosen[priors.declared_unique] = chosen[priors.connected.left] = True
    columns = zip(lake.profiles, lake.standing, priors.uniqueness, priors.completeness, strict=True)
    for column, (profile, standing, uniqueness, completeness) in enumerate(columns):
        chosen[column] |= not find_obstacle(
            profile,
            config,
            standing=int(standing),
            uniqueness=float(uniqueness),
            completeness=float(completeness),
        )
    return np.flatnonzero(chosen)
