"""Test the questions about uncertain columns, and what follows from the answers."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm import NOTHING, AnswerCounts
from datahub_hyperjoin.model.llm.adjudication import (
    Adjudication,
    adjudicate,
    find_uncertain,
    read_key,
)
from datahub_hyperjoin.model.roles.references import NO_KEY, References
from datahub_hyperjoin.tables import ColumnId
from services.endpoint import Endpoint, choosing, saying

Configure = Callable[..., LanguageModelConfig]
Ask = Callable[..., Adjudication]


def references(*pairs: tuple[int, int, float]) -> References:
    columns, keys, probabilities = zip(*pairs, strict=True)
    return References(np.array(columns), np.array(keys), np.array(probabilities))


# Columns of the shop: orders has id, customer_no, article; clients has client_id, country, note.
UNSURE = references((0, 3, 0.02), (1, 3, 0.6), (1, 0, 0.2), (2, 0, 0.3), (4, 3, 0.97))


def test_the_most_uncertain_columns_are_asked_about_first() -> None:
    assert find_uncertain(UNSURE) == {1: [3, 0], 2: [0]}
    assert list(find_uncertain(references((5, 1, 0.2), (6, 1, 0.5), (7, 1, 0.7)))) == [6, 7, 5]


def test_few_keys_are_listed_and_no_improbable_ones() -> None:
    many = references(*((9, key, 0.09 if key else 0.2) for key in range(9)), (9, 20, 0.004))
    [keys] = find_uncertain(many).values()
    assert len(keys) == 8
    assert keys[0] == 0
    assert 20 not in keys


@pytest.fixture
def ask(shop: Lake, configure: Configure) -> Ask:
    """Return a function that asks the endpoint about the shop's uncertain columns."""

    def adjudicated(before: AnswerCounts = NOTHING, **given: object) -> Adjudication:
        return adjudicate(shop, UNSURE, configure(**given), lambda _: None, before)

    return adjudicated


def test_each_column_is_a_question_with_its_keys(endpoint: Endpoint, ask: Ask) -> None:
    endpoint.usual = choosing()
    found = ask(concurrency=1)
    # The first key by name: `clients.client_id` comes before `orders.id`.
    assert found.choices == {1: 3, 2: 0}
    assert found.counts == AnswerCounts(questions=2, received=2, requests=2, tokens=616)
    first, second = (json.loads(each["messages"][1]["content"]) for each in endpoint.requests)
    assert first == {
        "column": {
            "table": "orders",
            "column": "customer_no",
            "columns": ["id", "customer_no", "article"],
        },
        "keys": [
            {
                "number": 1,
                "table": "clients",
                "column": "client_id",
                "columns": ["client_id", "country", "note"],
            },
            {
                "number": 2,
                "table": "orders",
                "column": "id",
                "columns": ["id", "customer_no", "article"],
            },
        ],
    }
    assert [key["column"] for key in second["keys"]] == ["id"]


def test_none_of_the_keys_is_an_answer(endpoint: Endpoint, ask: Ask) -> None:
    endpoint.usual = choosing(none=True)
    assert ask().choices == {1: NO_KEY, 2: NO_KEY}


def test_a_second_run_asks_nothing(endpoint: Endpoint, ask: Ask, tmp_path: object) -> None:
    endpoint.usual = choosing()
    first, again = ask(cache=tmp_path), ask(cache=tmp_path)
    assert again.choices == first.choices
    assert again.counts == AnswerCounts(questions=2, cached=2)
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("send_values", [False, True])
def test_values_leave_only_when_the_recipe_allows_it(
    endpoint: Endpoint,
    ask: Ask,
    send_values: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    endpoint.usual = choosing()
    ask(send_values=send_values)
    # The column and two keys in one question, the column and one key in the other.
    assert json.dumps(endpoint.requests).count("secretvalue") == (5 * 5 if send_values else 0)


def test_personal_values_never_leave(endpoint: Endpoint, shop: Lake, configure: Configure) -> None:
    endpoint.usual = choosing()
    personal = tuple(replace(profile, personal="e-mail addresses") for profile in shop.profiles)
    config = configure(send_values=True)
    adjudicate(replace(shop, profiles=personal), UNSURE, config, lambda _: None)
    assert len(endpoint.requests) == 2
    assert "secretvalue" not in json.dumps(endpoint.requests)


def test_the_folder_tells_databases_apart(
    endpoint: Endpoint, shop: Lake, configure: Configure
) -> None:
    endpoint.usual = choosing()
    named = tuple(
        replace(each, id=ColumnId(replace(each.id.table, name=f"x/crm/{each.id.table.name}"), path))
        for each, path in zip(shop.profiles, shop.paths, strict=True)
    )
    adjudicate(replace(shop, profiles=named), UNSURE, configure(), lambda _: None)
    asked = json.loads(endpoint.requests[0]["messages"][1]["content"])
    assert asked["column"]["folder"] == "crm"


def test_what_was_asked_before_counts_for_the_budget(endpoint: Endpoint, ask: Ask) -> None:
    endpoint.usual = choosing()
    found = ask(AnswerCounts(tokens=9_000), max_tokens=10_000)
    assert [failure.title for failure in found.failures] == ["Language model's budget is spent"]
    assert found.choices == {}


def test_a_useless_answer_is_none(endpoint: Endpoint, ask: Ask) -> None:
    endpoint.usual = saying("The second one, I think.")
    found = ask()
    assert found.choices == {}
    assert found.failures[0].context == (
        "Requests without a usable answer: reply without an answer: 2"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"key": 2}', {1: "2"}),
        ('Sure:\n```json\n{"key": 0}\n```', {1: "0"}),
        ('{"key": 1} or rather {"key": 1}', {1: "1"}),
        ('{"key": 1} or rather {"key": 2}', {}),
        ('{"key": 4}', {}),
        ('{"key": -1}', {}),
        ('{"key": true}', {}),
        ('{"key": "2"}', {}),
        ('{"number": 2}', {}),
        ("2", {}),
        ("", {}),
    ],
)
def test_an_answer_is_one_number_of_the_list(text: str, found: dict[int, str]) -> None:
    assert read_key(text, 3) == found


@given(st.text(), st.integers(1, 8))
def test_no_text_is_an_error(text: str, count: int) -> None:
    assert set(read_key(text, count)) <= {1}


def test_a_choice_multiplies_the_odds() -> None:
    found = UNSURE.with_choices({1: 0}, 6)
    # Of column 1, 0.2 remains for no key: 0.6 + 10 * 0.2 + 0.2 in all.
    np.testing.assert_allclose(found.probability, [0.02, 0.6 / 2.8, 2.0 / 2.8, 0.3, 0.97])
    denied = UNSURE.with_choices({1: NO_KEY}, 6)
    np.testing.assert_allclose(denied.probability, [0.02, 0.6 / 2.8, 0.2 / 2.8, 0.3, 0.97])


@given(st.dictionaries(st.sampled_from([0, 1, 2, 4]), st.sampled_from([NO_KEY, 0, 3])))
def test_probabilities_stay_probabilities(choices: dict[int, int]) -> None:
    found = UNSURE.with_choices(choices, 6)
    sums = np.bincount(found.referring, found.probability)
    assert (found.probability >= 0).all()
    assert (sums <= 1 + 1e-9).all()
    unasked = ~np.isin(UNSURE.referring, [*choices])
    np.testing.assert_array_equal(found.probability[unasked], UNSURE.probability[unasked])
