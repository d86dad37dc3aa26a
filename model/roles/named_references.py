"""Find references between columns without comparing values.

Names, types, counts and lengths of values are the only clues. The clues of names and tables have
the same weights as where values are compared. Evidence from values is missing, so the prior
probability of a reference is lower, and further clues count.
"""

from dataclasses import replace

import numpy as np

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.lake_names import spell_out_markers
from datahub_hyperjoin.model.roles.named_candidates import find_named_candidates
from datahub_hyperjoin.model.roles.references import References, weigh_candidates
from datahub_hyperjoin.model.roles.weights import DEFAULT_WEIGHTS
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_WEIGHTS = replace(
    DEFAULT_WEIGHTS,
    prior=-6.0,
    containment=0.0,
    rarity=0.0,
    words=0.0,
    density=0.0,
    coverage=0.0,
    other_table=0.0,
    same_prefix=2.0,
)
"""Weights of the clues that need no values. The prior is lower than in `DEFAULT_WEIGHTS`, which
apply only to pairs that share a value, a small selection of all pairs. A common prefix of two
tables weighs more, because no value tells the tables of several databases apart."""
_TABLE_AT_END = 1.5
"""Log-odds if the column's name ends with the name of the key's table, as in `home_airport_id`."""
_SHARE_AT_END = 1.5
"""Multiplies the share of the column's name that this ending takes up."""
_PARENT = 3.0
"""Log-odds if the column's name denotes a parent row, as `manager_id` does, and the key may
identify that row."""
_KEY_NAME = 2.0
"""Further log-odds if this ending is the name of the table's key, as in `ord_cust_no`."""
_OWN_TABLE_AT_END = 6.5
"""Log-odds if the column's name ends with the name of its own table, and the key is in it."""
_ACTOR = 7.0
"""Log-odds if the column is named after people by what they do, and the key is in their table.
Less for nouns."""
_HALF_MARKED = -1.0
"""Log-odds if only one of the names has a word such as `id`: the other column may hold names."""
_UNLIKE_OTHERS = -3.0
"""Further log-odds if the key's name has such a word, and other columns of the table have one."""
_LENGTHS = 0.5
"""Multiplies the evidence from lengths: the negative logarithm of `length_chance`, minus 1."""
_MIN_UNMARKED = 0.1
"""Minimum probability of a reference from a column whose name has no word such as `id`."""


def find_named_references(lake: Lake, priors: CatalogPriors) -> References:
    """Compute the probability of each possible reference without comparing any values.

    The clues are names, types, counts and lengths, and what the catalog says.
    """
    lake = spell_out_markers(lake)
    named = find_named_candidates(lake, priors)
    further = (
        _TABLE_AT_END * (named.table_at_end > 0)
        + _SHARE_AT_END * named.table_at_end
        + _KEY_NAME * named.key_name_at_end
        + _PARENT * named.parent
        + _OWN_TABLE_AT_END * named.own_table_at_end
        + _ACTOR * named.actor
        + _HALF_MARKED * named.half_marked
        + _UNLIKE_OTHERS * named.unlike_others * (named.actor == 0)
        + _LENGTHS * (-np.log(named.length_chance) - 1)
    )
    estimated = replace(priors, uniqueness=named.uniqueness)
    found = weigh_candidates(lake, estimated, named.candidates, _WEIGHTS, further)
    kept = named.is_marked[found.referring] | (found.probability >= _MIN_UNMARKED)
    return replace(found.select(kept), probability=found.probability[kept].astype(np.float64))
