"""Test the questions to a language model, and how its answers are read."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm.naming import ask_names, read_names, usable_name
from datahub_hyperjoin.model.llm.question import ColumnInWords
from datahub_hyperjoin.model.signals.names import tokens

BASE = ColumnInWords("", "orders", ("id", "customer"), "customer", ("Ann",))


def test_what_is_sent_is_bounded(make_lake: Callable[..., Lake]) -> None:
    columns = {f"{'n' * 500}{at}": [f"{'v' * 500}{row}" for row in range(20)] for at in range(99)}
    lake = make_lake({"t" * 500: columns})
    questions = tuple(ColumnInWords.from_lake(lake, at, send_values=True) for at in range(25))
    assert len(questions[0].columns) == 40
    assert len(questions[0].values) == 5
    assert max(map(len, questions[0].values)) == 60
    assert ask_names(questions, 100).most_tokens < 25_000


def test_half_characters_can_be_sent(make_lake: Callable[..., Lake]) -> None:
    lake = make_lake({"t\ud83d": {"c\udc00": ["a", "b"]}})
    question = ColumnInWords.from_lake(lake, 0, send_values=True)
    assert (question.table, question.column) == ("t?", "c?")
    assert ask_names([question], 100).most_tokens > 0


def test_a_table_is_described_once_for_all_of_its_columns() -> None:
    prompt = ask_names((BASE, ColumnInWords("", "orders", ("id", "customer"), "id", ())), 100)
    assert json.loads(prompt.messages[1]["content"]) == {
        "tables": [
            {
                "table": "orders",
                "columns": ["id", "customer"],
                "key_columns": [
                    {"number": 1, "column": "customer", "values": ["Ann"]},
                    {"number": 2, "column": "id"},
                ],
            }
        ]
    }


QUESTION = ColumnInWords("", "orders", ("id", "customer_id", "Country"), "customer_id", ())
LISTED = {"names": [{"number": 1, "name": "a"}, {"number": 2, "name": "b"}]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (json.dumps(LISTED), {1: "a", 2: "b"}),
        (f"Here you are:\n```json\n{json.dumps(LISTED, indent=2)}\n```\n", {1: "a", 2: "b"}),
        (json.dumps(LISTED["names"]), {1: "a", 2: "b"}),
        ('{"number": 2, "name": "b"}\n{"number": 1, "name": "a"}', {1: "a", 2: "b"}),
        (json.dumps(LISTED)[:-10], {1: "a"}),
        ('{"names": [{"number": 1, "name": "a"}, {"number": 1, "name": "b"}]}', {}),
        ('{"names": [{"number": 1, "name": "a"}, {"number": 1, "name": "a"}]}', {1: "a"}),
        ('{"names": [{"number": 0, "name": "a"}, {"number": 3, "name": "b"}]}', {}),
        ('{"names": [{"number": "1", "name": "a"}, {"number": 1.0, "name": "b"}]}', {}),
        ('{"names": {"1": "a"}}', {}),
        ('{"perturbed": "a"}', {}),
        ("", {}),
    ],
)
def test_names_are_matched_by_number_whatever_stands_around_them(
    text: str, found: dict[int, str]
) -> None:
    assert read_names(text, 2) == found


@given(st.text(), st.integers(1, 3))
def test_no_text_is_an_error(text: str, count: int) -> None:
    assert set(read_names(text, count)) <= set(range(1, count + 1))


@given(st.dictionaries(st.integers(1, 5), st.text(), min_size=1), st.text(alphabet="ab`[]: \n"))
def test_what_was_written_is_read(names: dict[int, str], around: str) -> None:
    entries = [{"number": number, "name": name} for number, name in names.items()]
    assert read_names(f"{around}{json.dumps({'names': entries})}{around}", 5) == names


@pytest.mark.parametrize(
    "said", ["client_id", "custId", "CustomerKey", " buyer no ", "customer.key", "顧客番号", "c2"]
)
def test_a_plausible_name_is_taken(said: str) -> None:
    assert usable_name(said, QUESTION) == said.strip()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   ",
        "customer_id",
        "CustomerID",
        "customer-id",
        "country",
        "12345",
        "___",
        "x" * 65,
        "client\nid",
        "client\x00id",
        "client\u202eid",
        "client\u200bid",
        "the name of the client",
        "client_id; DROP TABLE orders",
        '{"name": "x"}',
        "<script>",
        "client_id\ud800",
    ],
)
def test_what_is_no_other_name_is_dropped(said: str) -> None:
    assert usable_name(said, QUESTION) is None


@given(st.text())
def test_whatever_is_taken_is_a_bounded_name_of_its_own(said: str) -> None:
    name = usable_name(said, QUESTION)
    if name is not None:
        assert 0 < len(name) <= 64
        assert name.isprintable()
        assert tokens(name) not in {tokens(other) for other in QUESTION.columns}
