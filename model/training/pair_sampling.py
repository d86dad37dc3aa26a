"""Select the positive and negative pairs of a training step.

A key column must find itself in the other view. Decisions add to that: every other time, an
accepted partner takes the place of the column itself, and a rejected partner joins the batch as a
negative, however similar the two are.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Int

from datahub_hyperjoin.model.hypergraph.join_graph import JoinGraph
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import PairValues
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_ACCEPTED = 0.5
"""Share of training steps in which the positive of a key column is a partner that people accepted.
In all other steps, the positive is the column itself, so that names and values still count."""
_SIMILAR = 0.3
"""Containment above which two columns may be joinable, and therefore form no negative pair."""


def _draw(pairs: PairValues, column: int, random: np.random.Generator) -> Int[np.ndarray, " _"]:
    """Draw one random partner of a column; return an empty array if the column has none."""
    partners = pairs.partners(column)
    return random.choice(partners, size=1) if len(partners) else partners


def sample_targets(
    priors: CatalogPriors, keys: Int[np.ndarray, " key"], random: np.random.Generator
) -> Int[np.ndarray, " key"]:
    """For each key column, choose a positive example: the column itself or an accepted partner.

    Args:
        random: The source of choices. Keys without an accepted partner draw nothing.

    Returns:
        For each key, the key itself, or every other time one of its accepted partners.
    """
    targets = keys.copy()
    for row, key in enumerate(keys):
        partner = _draw(priors.accepted, int(key), random)
        if len(partner) and random.random() < _ACCEPTED:
            targets[row] = partner[0]
    return targets


def sample_rejected(
    priors: CatalogPriors, keys: Int[np.ndarray, " key"], random: np.random.Generator
) -> Int[np.ndarray, " stranger"]:
    """For each key column with rejected partners, choose one such partner at random.

    Args:
        random: The source of choices. Keys without a rejected partner draw nothing.

    Returns:
        Columns that the batch must contain, so that they can be negatives.
    """
    drawn = [_draw(priors.rejected, int(key), random) for key in keys]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *drawn]))


def find_negatives(
    keys: Int[np.ndarray, " pair"],
    candidates: Int[np.ndarray, " candidate"],
    *,
    overlap: ValueOverlap,
    joins: JoinGraph,
    priors: CatalogPriors,
    exclude_similar: bool,
) -> Bool[np.ndarray, "pair candidate"]:
    """For each key column, mark the candidates that serve as negatives.

    Candidates in the same value domain or with similar values may be joinable, and connected ones
    are. A rejected candidate is always a negative, whatever its values.

    Args:
        exclude_similar: Whether columns that may be joinable are no negatives.

    Returns:
        Whether each candidate is a negative of each key column.
    """
    query, candidate = np.broadcast_arrays(keys[:, None], candidates[None, :])
    component = joins.component
    similar = (component[query] == component[candidate]) & (component[query] >= 0)
    there = overlap.locate(query, candidate)
    similar |= overlap.either_way_at(there, overlap.reverse_at(there)) > _SIMILAR
    similar &= exclude_similar
    joinable = similar | (query == candidate) | priors.connected.holds(query, candidate)
    return ~joinable | priors.rejected.holds(query, candidate)


def select_similar(overlap: ValueOverlap) -> ValueOverlap:
    """Return a copy of the overlap with only the pairs that `find_negatives` takes for similar.

    Training reads no other pairs, and there are many of them.
    """
    similar = overlap.either_way(slice(None)) > _SIMILAR  # the same for both orders of a pair
    return replace(
        overlap,
        left=overlap.left[similar],
        right=overlap.right[similar],
        shared=overlap.shared[similar],
        containment=overlap.containment[similar],
        beyond_chance=overlap.beyond_chance[similar],
    )
