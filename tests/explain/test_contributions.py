"""Test that the HTML page shows the same signals as `hyperjoin explain`."""

from dataclasses import replace

import pytest

from datahub_hyperjoin.model.config import Scoring
from datahub_hyperjoin.model.ranking.pair_scoring import list_contributions
from datahub_hyperjoin.tables import Pair
from lakes.explained import Run, run_on


@pytest.fixture(scope="module")
def shop() -> Run:
    return run_on()


def pairs_of(run: Run) -> list[Pair]:
    pairs = [(join.left, join.right) for join in run.comparison.findings.joins]
    assert pairs
    return pairs


def test_the_signals_are_those_of_the_explanation(shop: Run) -> None:
    comparison, pairs = shop.comparison, pairs_of(shop)
    found = list_contributions(
        comparison.index, comparison.encoding.embeddings, pairs, shop.config.ranking.scoring
    )
    assert list(found) == pairs
    for pair, contributions in found.items():
        there, back = (shop.pair(str(left), str(right)) for left, right in (pair, pair[::-1]))
        for one in there.signals:
            (other,) = (each for each in back.signals if each.name == one.name)
            expected = max(one.alone, other.alone)
            assert contributions.alone[one.name] == pytest.approx(expected), one.name
        expected = max(*(account.ranks[0].by_signals for account in (there, back)))
        assert contributions.together == pytest.approx(expected)


def test_without_signals_nothing_is_listed(shop: Run) -> None:
    comparison = shop.comparison
    embeddings = comparison.encoding.embeddings
    assert list_contributions(comparison.index, embeddings, [], Scoring.SIGNALS) == {}
    names = replace(comparison.index, features=replace(comparison.index.features, values=False))
    for index, scoring in ((comparison.index, Scoring.HIN), (names, Scoring.SIGNALS)):
        assert list_contributions(index, embeddings, pairs_of(shop), scoring) == {}
