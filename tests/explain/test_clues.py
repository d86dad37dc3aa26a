"""Test how a reference is explained: by its clues and by the other keys of its column."""

import numpy as np
import pytest

from datahub_hyperjoin.explain import as_record, describe_pair
from datahub_hyperjoin.explain.clues import CLUES, WatchedTrees
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from datahub_hyperjoin.model.roles.reference_trees import correct_by_trees
from lakes.deciding import BOOKS, CODES, CUSTOMER, CUSTOMERS, ORDERS, USERS, VISIT, index_of
from lakes.explained import run_on
from lakes.handmade import draw, numbers, things

PLACES = {"places": {"code": CODES[:36], "size": numbers(100, 136)}}


def test_a_reference_names_the_three_clues_that_weigh_most() -> None:
    account = run_on({**CUSTOMERS, **ORDERS}).pair(*CUSTOMER)
    (reference,) = account.references
    weighed = [abs(clue.log_odds) for clue in reference.clues]
    assert len(weighed) == 3
    assert weighed == sorted(weighed, reverse=True)
    first = reference.clues[0]
    said = f"  Clues that weigh most, in log-odds: {first.name} {first.log_odds:+.1f}; "
    assert said in describe_pair(account)
    record = as_record(account)["references"][0]["clues"][0]
    assert record == {"name": first.name, "log_odds": round(first.log_odds, 4)}


def test_all_clues_add_up_to_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datahub_hyperjoin.explain.clues._SHOWN", 99)
    index, trees = index_of({**CUSTOMERS, **ORDERS, **things(3)}), WatchedTrees()
    references = index.find_references({}, trees)
    assert trees.seen
    known = {*trees.seen.features} & {*vars(DEFAULT_WEIGHTS)}
    assert known == {*CLUES}
    best = references.best
    assert best
    for column, (key, probability) in best.items():
        total = sum(clue.log_odds for clue in trees.explain(column, key))
        odds = np.exp(total + DEFAULT_WEIGHTS.prior)
        others = [likely / probability for _, likely in trees.rivals(column, key)]
        assert probability == pytest.approx(odds / (1 + odds * (1 + sum(others))), abs=0.01)


def test_the_other_keys_of_a_column_are_named_with_their_probabilities() -> None:
    account = run_on({**BOOKS, **PLACES}).pair(*VISIT)
    reference = account.references[0]
    (rival,) = reference.rivals
    assert str(rival.key) == "places.code"
    assert 0 < rival.probability < reference.probability
    said = f"  Other keys: places.code {rival.probability:.2f}"
    assert said in describe_pair(account).splitlines()


def test_what_the_trees_did_not_see_has_neither_clues_nor_rivals() -> None:
    trees = WatchedTrees()
    assert (trees.explain(0, 1), [*trees.rivals(0, 1)]) == ((), [])
    index = index_of({**USERS, "orders": {"user_id": draw(numbers(5001, 5041), 200)}})
    index.find_references({}, trees)
    assert trees.seen
    assert trees.corrections.tolist() == correct_by_trees(trees.seen).tolist()
    assert trees.explain(10**6, 1) == ()
