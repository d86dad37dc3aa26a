"""Test that a stronger signal never lowers a score, and that each signal has an effect."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.ranking.pair_scoring import (
    STRENGTHS,
    PairSignals,
    SignalStrengths,
    combine,
)

SIGNALS = (
    "containment",
    "containment_in_right",
    "shared_weight",
    "ochiai",
    "cells",
    "names",
    "cosine",
    "right_uniqueness",
    "same_location",
    "entities",
    "crosswalk",
    "catalog",
)
"""Signals whose increase never lowers a score; `same_form`, `text` and `density` select the
formula."""
FLAGS = ("same_location", "same_form", "text")
shares = st.floats(0, 1)


def change(signals: PairSignals, **values: float) -> PairSignals:
    arrays = {
        name: np.array([value], dtype=bool if name in FLAGS else float)
        for name, value in values.items()
    }
    return replace(signals, **arrays)


_ZEROS = {
    field.name: np.zeros(1, dtype=bool if field.name in FLAGS else float)
    for field in fields(PairSignals)
}
NUMBERS = PairSignals(**_ZEROS)
TEXTS = change(NUMBERS, text=1)


def score(signals: PairSignals, strengths: SignalStrengths = STRENGTHS) -> float:
    return float(combine(signals, strengths)[0])


@st.composite
def drawn_pairs(draw: st.DrawFn) -> PairSignals:
    return change(
        NUMBERS,
        **{name: draw(st.booleans() if name in FLAGS else shares) for name in _ZEROS},
    )


@pytest.mark.parametrize("name", SIGNALS)
@given(signals=drawn_pairs(), one=shares, other=shares)
def test_more_of_a_signal_never_lowers_the_score(
    name: str, signals: PairSignals, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    if name in FLAGS:
        low, high = 0, 1
    less, more = (change(signals, **{name: value}) for value in (low, high))
    assert score(less) <= score(more) + 1e-12


@given(signals=drawn_pairs())
def test_a_score_is_a_share(signals: PairSignals) -> None:
    assert -1e-12 <= score(signals) <= 1


@pytest.mark.parametrize("name", [field.name for field in fields(SignalStrengths)])
@given(signals=drawn_pairs(), one=shares, other=shares)
def test_a_stronger_signal_never_lowers_the_score(
    name: str, signals: PairSignals, one: float, other: float
) -> None:
    weak, strong = (replace(STRENGTHS, **{name: value}) for value in sorted((one, other)))
    assert score(signals, weak) <= score(signals, strong) + 1e-12


@pytest.mark.parametrize(
    ("expected", "full"),
    [
        (0.7, ("containment", "shared_weight")),
        (0.5, ("ochiai",)),
        (0.7, ("cells",)),
        (0.25, ("names",)),
        (0.1, ("cosine",)),
        (0.2, ("containment_in_right", "shared_weight", "right_uniqueness")),
        (1 - 0.3 * 0.9, ("containment", "shared_weight", "same_location")),
        (0.8, ("entities", "same_form")),
        (0.7, ("entities",)),
        (0.7, ("crosswalk",)),
        (0.7, ("crosswalk", "entities")),
        (1.0, ("catalog",)),
        (0.0, ("shared_weight", "right_uniqueness", "same_location", "same_form")),
    ],
)
def test_a_signal_alone_at_full_strength_has_its_probability(
    expected: float, full: tuple[str, ...]
) -> None:
    assert score(TEXTS) == score(NUMBERS) == 0
    assert score(change(TEXTS, **dict.fromkeys(full, 1.0))) == pytest.approx(expected)


def test_a_shared_entity_of_one_form_counts_in_full() -> None:
    few = change(TEXTS, entities=0.51)
    assert score(change(few, same_form=1)) == pytest.approx(0.8)
    assert score(few) == pytest.approx(0.7 * 0.51)


@given(signals=drawn_pairs(), one=shares, other=shares)
def test_numbers_with_unlike_names_count_less_the_denser_they_are(
    signals: PairSignals, one: float, other: float
) -> None:
    sparse, dense = (change(signals, text=0, density=density) for density in sorted((one, other)))
    assert score(dense) <= score(sparse) + 1e-12


def test_without_a_network_its_signal_is_missing() -> None:
    assert score(replace(TEXTS, cosine=None)) == 0
