"""Ask a language model for name variants of key columns (paper, section 4.1, step 3, box 1).

The rules of `datahub_hyperjoin.model.signals.names` provide the variants that the model does not.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm import Naming
from datahub_hyperjoin.model.llm.prompt import DATA, Prompt, find_objects
from datahub_hyperjoin.model.llm.question import ColumnInWords
from datahub_hyperjoin.model.llm.requests import Asker
from datahub_hyperjoin.model.signals.names import tokens
from datahub_hyperjoin.model.signals.pairs import KeyInts
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_COLUMNS_PER_REQUEST = 25  # maximum number of key columns in one request

_TASK = f"""\
You know how people name the columns of databases. The user's message is a JSON document that \
describes tables: each has its name, the names of its columns, and under `key_columns` the \
columns you are asked about, some with a few of their values. {DATA}

For each of the key columns think of the same column in a table of someone else, and give the one \
most plausible name it has there. Change words as people do: a synonym (CustomerID, ClientID), an \
abbreviation or what it stands for (CustomerID, cust_id), and beside that separators and case. \
Another case or separator alone is not enough. Keep the meaning. Use letters, digits and \
separators only, at most 40 characters, and neither the column's own name nor that of another \
column of its table.

Answer with JSON alone, each number of the document once:
{{"names": [{{"number": 1, "name": "client_id"}}]}}"""

_NAME: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["number", "name"],
    "additionalProperties": False,
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": _NAME}},
    "required": ["names"],
    "additionalProperties": False,
}


def name_columns(
    lake: Lake,
    keys: KeyInts,
    config: LanguageModelConfig,
    report_progress: Callable[[str], None] = logger.info,
) -> Naming:
    """Ask a language model for a name variant of each key column."""
    # Copies of a table lead to the same questions.
    columns_of: dict[ColumnInWords, list[int]] = defaultdict(list)
    for key in keys.tolist():
        question = ColumnInWords.from_lake(lake, key, send_values=config.send_values)
        columns_of[question].append(key)
    asker = Asker[ColumnInWords](
        config,
        version="names 1",
        per_request=_COLUMNS_PER_REQUEST,
        prompt=partial(ask_names, answer_tokens=config.answer_tokens),
        report_progress=report_progress,
    )
    answers = asker.ask(columns_of)
    variants = [_variants(each, columns_of) for each in (answers.received, answers.cached)]
    received, cached = map(len, variants)
    return Naming(
        variants=variants[1] | variants[0],
        counts=replace(answers.counts, questions=len(keys), received=received, cached=cached),
        failures=answers.failures,
    )


def _variants(
    answers: Mapping[ColumnInWords, str], columns_of: Mapping[ColumnInWords, Sequence[int]]
) -> dict[int, str]:
    """Map columns to their name variants."""
    return {
        column: name
        for question, answer in answers.items()
        if (name := usable_name(answer, question)) is not None
        for column in columns_of[question]
    }


def ask_names(questions: Sequence[ColumnInWords], answer_tokens: int) -> Prompt:
    """Build the request for name variants of some columns."""
    # Questions about one table are adjacent, so that its columns are listed only once.
    tables = []
    numbered = enumerate(questions, start=1)
    for (table, columns), group in groupby(numbered, lambda item: (item[1].table, item[1].columns)):
        key_columns = [
            {"number": number, "column": question.column}
            | ({"values": question.values} if question.values else {})
            for number, question in group
        ]
        tables.append({"table": table, "columns": columns, "key_columns": key_columns})
    return Prompt(
        task=_TASK,
        document={"tables": tables},
        answer_schema=_SCHEMA,
        answer_tokens=answer_tokens * len(questions),
        read=partial(read_names, count=len(questions)),
    )


_MAX_NAME = 64
_MAX_WORDS = 3  # maximum number of words, separated by spaces, in a name; more words are a sentence
_NAME_FORM = re.compile(r"\w[\w .$#/-]*")


def _numbered_names(value: dict[str, Any]) -> Iterator[tuple[int, str]]:
    names = value.get("names")
    for entry in names if isinstance(names, list) else [value]:
        if isinstance(entry, dict):
            number, name = entry.get("number"), entry.get("name")
            # `type` and not `isinstance`: JSON's true is an int of Python.
            if type(number) is int and isinstance(name, str):
                yield number, name


def read_names(text: str, count: int) -> dict[int, str]:
    """Extract the names that a language model's answer gives to the columns 1 to `count`."""
    names: dict[int, str] = {}
    ambiguous = set()
    for value in find_objects(text):
        for number, name in _numbered_names(value):
            if names.setdefault(number, name) != name:
                ambiguous.add(number)
    return {
        number: name
        for number, name in sorted(names.items())
        if 1 <= number <= count and number not in ambiguous
    }


def usable_name(answer: str, question: ColumnInWords) -> str | None:
    """Return a suggested name if it can be a name variant, otherwise None."""
    name = answer.strip()
    short = len(name) <= _MAX_NAME and len(name.split()) <= _MAX_WORDS
    if not short or not name.isprintable() or not _NAME_FORM.fullmatch(name):
        return None
    taken = {tokens(column) for column in (question.column, *question.columns)}
    words = tokens(name)
    return name if any(map(str.isalpha, words)) and words not in taken else None
