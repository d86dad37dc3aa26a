"""Ask a language model which keys the uncertain columns of a lake refer to."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm import NOTHING, AnswerCounts
from datahub_hyperjoin.model.llm.errors import Failure
from datahub_hyperjoin.model.llm.prompt import DATA, Prompt, find_objects
from datahub_hyperjoin.model.llm.question import ColumnInWords
from datahub_hyperjoin.model.llm.requests import Asker
from datahub_hyperjoin.model.roles.references import NO_KEY, References

UNSURE = (0.1, 0.9)
"""Probabilities of a column's best key between which the column is asked about."""
_MOST_KEYS = 8
"""Maximum number of keys in a question."""
_LEAST = 0.005
"""Minimum probability of a key in a question."""

_TASK = f"""\
You know how people design databases. The user's message is a JSON document about one column of a \
table in a data lake, with the folder and the table it is in, and the other columns of the table. \
Under `keys` are columns that it may refer to, as a foreign key refers to the key of another \
table, or of the same one. Some columns come with a few of their values. {DATA}

Tables of several databases may lie beside each other, and many columns refer to nothing: \
measures, dates, texts, codes whose table is missing, and keys of their own table. If the column \
refers to one of the keys, so that its values are those of the key, give the number of that key. \
If it refers to none of them, give 0. Of several, give the one that a foreign key would name.

Answer with JSON alone: {{"key": 2}}"""

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"key": {"type": "integer"}},
    "required": ["key"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class KeyQuestion:
    """A column, and the keys that it may refer to."""

    column: ColumnInWords
    keys: tuple[ColumnInWords, ...]


@dataclass(frozen=True)
class Adjudication:
    """Which key each column refers to that was asked about, with counts and failures."""

    choices: Mapping[int, int] = field(default_factory=dict)
    """The key that the language model chose for each column, or `NO_KEY`."""

    counts: AnswerCounts = NOTHING
    failures: tuple[Failure, ...] = ()


def find_uncertain(references: References) -> dict[int, list[int]]:
    """For each column whose key is uncertain, list its likely keys; the most uncertain first."""
    keys: dict[int, list[tuple[float, int]]] = defaultdict(list)
    likely = np.flatnonzero(references.probability >= _LEAST)
    columns = (references.referring, references.referenced, references.probability)
    for column, key, probability in zip(*(each[likely].tolist() for each in columns), strict=True):
        keys[column].append((-probability, key))
    best = {column: -min(found)[0] for column, found in keys.items()}
    asked = [column for column, sure in best.items() if UNSURE[0] <= sure <= UNSURE[1]]
    asked.sort(key=lambda column: (abs(best[column] - 0.5), column))
    return {column: [key for _, key in sorted(keys[column])[:_MOST_KEYS]] for column in asked}


def adjudicate(
    lake: Lake,
    references: References,
    config: LanguageModelConfig,
    report_progress: Callable[[str], None],
    before: AnswerCounts = NOTHING,
) -> Adjudication:
    """Ask a language model about each uncertain column; `before` is what the run has asked."""
    describe = partial(ColumnInWords.from_lake, lake, send_values=config.send_values)
    asked_of: dict[KeyQuestion, list[tuple[int, list[int]]]] = defaultdict(list)
    for column, keys in find_uncertain(references).items():
        # The order of names, since that of probabilities would give the own opinion away.
        ordered = sorted(keys, key=lambda key: (lake.ids[key], key))
        question = KeyQuestion(describe(column), tuple(map(describe, ordered)))
        asked_of[question].append((column, ordered))
    asker = Asker[KeyQuestion](
        config,
        version="keys 1",
        per_request=1,
        prompt=partial(ask_key, answer_tokens=config.answer_tokens),
        before=before,
        report_progress=report_progress,
    )
    answers = asker.ask(asked_of)
    choices = {
        column: keys[int(answer) - 1] if int(answer) else NO_KEY
        for question, answer in (answers.cached | answers.received).items()
        for column, keys in asked_of[question]
    }
    counts = replace(
        answers.counts,
        questions=len(asked_of),
        received=len(answers.received),
        cached=len(answers.cached),
    )
    return Adjudication(choices, counts, answers.failures)


def ask_key(questions: tuple[KeyQuestion, ...], answer_tokens: int) -> Prompt:
    """Build the request for the key of one column."""
    [question] = questions
    numbered = enumerate(question.keys, start=1)
    return Prompt(
        task=_TASK,
        document={
            "column": _describe(question.column),
            "keys": [{"number": number, **_describe(key)} for number, key in numbered],
        },
        answer_schema=_SCHEMA,
        answer_tokens=answer_tokens,
        read=partial(read_key, count=len(question.keys)),
    )


def _describe(column: ColumnInWords) -> dict[str, Any]:
    described = {
        "folder": column.folder,
        "table": column.table,
        "column": column.column,
        "columns": column.columns,
        "values": column.values,
    }
    return {name: value for name, value in described.items() if value}


def read_key(text: str, count: int) -> dict[int, str]:
    """Extract the number of the chosen key from an answer; empty if it names none or several."""
    found = {value["key"] for value in find_objects(text) if type(value.get("key")) is int}
    numbers = [number for number in found if 0 <= number <= count]
    return {1: str(numbers[0])} if len(found) == len(numbers) == 1 else {}
