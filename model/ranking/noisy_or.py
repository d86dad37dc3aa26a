"""Combine several signals into one score.

Each signal alone makes a pair joinable with some probability. A pair is not joinable if no signal
makes it so (noisy-or; Pearl, 1988).

Numbers in common are weak evidence, since consecutive numbers share values with every other such
column. Evidence from numbers is therefore discounted by the similarity of the names, the more so
the more of their range the numbers fill.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from datahub_hyperjoin.model.signals.trust import trust_in_numbers

Measure = Float[np.ndarray, "*pair"]


@dataclass(frozen=True, kw_only=True)
class SignalStrengths:
    """For each signal, the highest probability of a join that the signal alone can give."""

    containment: float = 0.7
    """Strength if the values of one column are contained in the other, beyond chance."""

    ochiai: float = 0.5
    """Strength if the sets of values are equal."""

    cells: float = 0.7
    """Strength if the cells of both columns have the same trigrams."""

    names: float = 0.25
    """Strength if text columns have the same name."""

    cosine: float = 0.1
    """Strength if the network's embeddings are equal."""

    lookup: float = 0.2
    """Strength if the right column is unique and contains the values of the left column."""

    location: float = 0.1
    """Strength if values overlap, and both tables are in one folder or schema."""

    same_form: float = 0.8
    """Strength if both columns hold entities of one kind in the same form, and share an entity."""

    other_form: float = 0.7
    """Strength if both columns hold the same entities in different forms."""

    crosswalk: float = 0.7
    """Strength if a crosswalk has a column with the left values, and another with the right values.
    """

    related: float = 0.9
    """Strength if one column certainly refers to the other, or both refer to the same key."""

    catalog: float = 1.0
    """Strength if the catalog states a join with certainty."""


STRENGTHS = SignalStrengths()
"""These strengths give the best rankings on the development lakes; small changes matter little."""


@dataclass(frozen=True, kw_only=True)
class PairSignals:
    """The signals of column pairs, one array for each signal.

    All arrays have the same shape. Values are in [0, 1] unless stated otherwise.
    """

    containment: Measure
    """Containment beyond chance in the better of both directions."""

    containment_in_right: Measure
    """Containment, beyond chance, of the left column in the right one."""

    shared_weight: Measure
    """Weight of the overlap by the number of shared values, see `weigh_shared`."""

    ochiai: Measure
    """Cosine of the sets of values."""

    cells: Measure
    """Cosine of the cells' trigrams."""

    names: Measure
    """Similarity of the names."""

    cosine: Measure | None
    """The network's cosine, rescaled; None without a network."""

    right_uniqueness: Measure
    """Uniqueness of the right column."""

    same_location: Bool[np.ndarray, "*pair"]
    """Whether both tables are in one folder or schema."""

    entities: Measure
    """Overlap of the entities; 0 for columns that share none."""

    same_form: Bool[np.ndarray, "*pair"]
    """Whether both columns write entities of one kind in the same form."""

    crosswalk: Measure
    """Strength of the two steps through a crosswalk; 0 for columns that no crosswalk connects."""

    related: Measure
    """Probability that one column refers to the other, or that both refer to the same key."""

    catalog: Measure
    """Probability of the join by the catalog alone."""

    text: Bool[np.ndarray, "*pair"]
    """Whether both columns hold text."""

    density: Measure
    """How densely the numbers of the denser column fill their range, from 0 to 1."""

    def flatten(self) -> "PairSignals":
        """Return a copy of the signals as one-dimensional arrays."""
        arrays = {name: array.ravel() for name, array in vars(self).items() if array is not None}
        return replace(self, **arrays)

    def without_background_knowledge(self) -> "PairSignals":
        """Return a copy in which the signals `entities`, `crosswalk` and `catalog` are 0."""
        none = np.zeros_like(self.names)
        return replace(self, entities=none, crosswalk=none, catalog=none)


def combine_background_knowledge(signals: PairSignals, strengths: SignalStrengths) -> Measure:
    """Compute the probability of a join from three signals: entities, crosswalks and catalog.

    Args:
        strengths: The probability of a join by each signal alone.
    """
    not_joinable = 1 - _by_entities_and_crosswalks(signals, strengths)
    return 1 - not_joinable * (1 - strengths.catalog * signals.catalog)


def _by_entities_and_crosswalks(signals: PairSignals, strengths: SignalStrengths) -> Measure:
    """Compute the probability of a join from two signals: entities and crosswalks."""
    by_entities = np.where(
        signals.same_form,
        strengths.same_form * (signals.entities > 0),
        strengths.other_form * signals.entities,
    )
    # A standard code list is a crosswalk, too: two of them are no more evidence than one.
    return np.maximum(by_entities, strengths.crosswalk * signals.crosswalk)


def probabilities_by_signal(signals: PairSignals, strengths: SignalStrengths) -> dict[str, Measure]:
    """For each signal alone, compute how probable a join is.

    Args:
        strengths: The highest probability that each signal can give.

    Returns:
        Probabilities by the names of the strengths; `entities` stands for entities and crosswalks.
    """
    overlap = signals.containment * signals.shared_weight
    cosine = np.zeros_like(signals.names) if signals.cosine is None else signals.cosine
    return {
        "containment": strengths.containment * overlap,
        "ochiai": strengths.ochiai * signals.ochiai,
        "cells": strengths.cells * signals.cells,
        "names": strengths.names * signals.names,
        "cosine": strengths.cosine * cosine,
        # The direction matters here only: the left column looks up rows of the right one.
        "lookup": strengths.lookup
        * signals.containment_in_right
        * signals.shared_weight
        * signals.right_uniqueness,
        "location": strengths.location * overlap * signals.same_location,
        "entities": _by_entities_and_crosswalks(signals, strengths),
        "related": strengths.related * signals.related,
        "catalog": strengths.catalog * signals.catalog,
    }


def combine(signals: PairSignals, strengths: SignalStrengths) -> Measure:
    r"""Combine all signals into the probability of a join.

    $$s = 1 - (1 - p_{\mathrm{content}}) \prod_{i} (1 - w_i x_i)$$

    for signals x with strengths w. The content of two texts is a noisy-or of values, cells and
    names; that of other columns is a noisy-or of values and cells, discounted by the names.

    Args:
        strengths: The probability of a join by each signal alone.
    """
    by = probabilities_by_signal(signals, strengths)
    not_by_values = (1 - by["containment"]) * (1 - by["ochiai"]) * (1 - by["cells"])
    # Equal names support texts, but for numbers they only decide how far values are believed.
    not_by_text = not_by_values * (1 - by["names"])
    not_by_numbers = 1 - trust_in_numbers(signals.names, signals.density) * (1 - not_by_values)
    # The order of the factors is fixed: another one rounds differently and can swap tied ranks.
    not_joinable = (
        np.where(signals.text, not_by_text, not_by_numbers)
        * (1 - by["cosine"])
        * (1 - by["lookup"])
        * (1 - by["location"])
        * (1 - by["entities"])
        * (1 - by["related"])
        * (1 - by["catalog"])
    )
    return 1 - not_joinable
