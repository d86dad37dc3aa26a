import json
from collections.abc import Callable

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm.prompt import Prompt
from datahub_hyperjoin.model.llm.question import Question

BASE = Question("orders", ("id", "customer"), "customer", ("Ann",))


def test_everything_that_is_asked_tells_questions_apart() -> None:
    others = [
        Question("bills", ("id", "customer"), "customer", ("Ann",)),
        Question("orders", ("customer",), "customer", ("Ann",)),
        Question("orders", ("id", "customer"), "id", ("Ann",)),
        Question("orders", ("id", "customer"), "customer", ()),
    ]
    keys = {question.key("small") for question in [BASE, *others]} | {BASE.key("large")}
    assert len(keys) == 6
    again = Question("orders", ("id", "customer"), "customer", ("Ann",))
    assert again.key("small") == BASE.key("small")


def test_what_is_sent_is_bounded(make_lake: Callable[..., Lake]) -> None:
    columns = {f"{'n' * 500}{at}": [f"{'v' * 500}{row}" for row in range(20)] for at in range(99)}
    lake = make_lake({"t" * 500: columns})
    questions = tuple(Question.from_lake(lake, at, send_values=True) for at in range(25))
    assert len(questions[0].columns) == 40
    assert len(questions[0].cells) == 5
    assert max(map(len, questions[0].cells)) == 60
    assert Prompt(questions, 100).most_tokens < 25_000


def test_half_characters_can_be_sent(make_lake: Callable[..., Lake]) -> None:
    lake = make_lake({"t\ud83d": {"c\udc00": ["a", "b"]}})
    question = Question.from_lake(lake, 0, send_values=True)
    assert (question.table, question.column) == ("t?", "c?")
    assert Prompt((question,), 100).most_tokens > 0


def test_a_table_is_described_once_for_all_of_its_columns() -> None:
    prompt = Prompt((BASE, Question("orders", ("id", "customer"), "id", ())), 100)
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
