"""Which columns training brings together and which it holds apart.

A key column must find itself in the other view. What people decided adds to that: a confirmed
partner stands in for the column itself every other time, and a rejected one is brought along to be
told apart, however alike the two are.
"""

import numpy as np
from jaxtyping import Bool, Int

from datahub_hyperjoin.model.hypergraph.hyperedges import JoinGraph
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import PairValues
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_CONFIRMED = 0.5
"""How often a confirmed partner is the positive; at other times it is the column itself, so that
names and values still count."""
_ALIKE = 0.3
"""ValueOverlap from which two columns may be joinable, and so are no negatives of one another."""


def _draw(pairs: PairValues, column: int, random: np.random.Generator) -> Int[np.ndarray, " _"]:
    """One of a column's partners, if it has any."""
    partners = pairs.partners(column)
    return random.choice(partners, size=1) if len(partners) else partners


def sample_targets(
    known: CatalogPriors, keys: Int[np.ndarray, " key"], random: np.random.Generator
) -> Int[np.ndarray, " key"]:
    """What each key column has to find in the other view.

    Args:
        known: Which pairs people confirmed.
        keys: Key columns.
        random: Where choices come from; left alone for keys without a confirmed partner.

    Returns:
        For each key itself, or every other time one of its confirmed partners.
    """
    targets = keys.copy()
    for at, key in enumerate(keys):
        partner = _draw(known.accepted, int(key), random)
        if len(partner) and random.random() < _CONFIRMED:
            targets[at] = partner[0]
    return targets


def sample_rejected(
    known: CatalogPriors, keys: Int[np.ndarray, " key"], random: np.random.Generator
) -> Int[np.ndarray, " stranger"]:
    """One rejected partner of each key column that has any.

    Args:
        known: Which pairs people rejected.
        keys: Key columns.
        random: Where choices come from; left alone for keys without a rejected partner.

    Returns:
        Columns that the batch must hold for them to be negatives.
    """
    drawn = [_draw(known.rejected, int(key), random) for key in keys]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *drawn]))


def find_negatives(
    keys: Int[np.ndarray, " pair"],
    candidates: Int[np.ndarray, " candidate"],
    *,
    overlap: ValueOverlap,
    joins: JoinGraph,
    known: CatalogPriors,
    spare_alike: bool,
) -> Bool[np.ndarray, "pair candidate"]:
    """Candidates that are surely not joinable with each key column.

    Those of its value domain or with alike values might be, and those connected with it are; a
    rejected one is not, whatever its values.

    Args:
        keys: Key columns.
        candidates: Columns of the other view.
        overlap: The lake's overlap.
        joins: Its join graph.
        known: What the catalog and its people say.
        spare_alike: Whether what might be joinable is no negative.

    Returns:
        One answer for each key and candidate.
    """
    one, other = np.broadcast_arrays(keys[:, None], candidates[None, :])
    component = joins.component
    alike = (component[one] == component[other]) & (component[one] >= 0)
    alike |= overlap.look_up(overlap.either_way, one, other) > _ALIKE
    alike &= spare_alike
    alike |= one == other
    alike |= known.connected.holds(one, other)
    return ~alike | known.rejected.holds(one, other)
