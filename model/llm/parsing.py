"""Extract name variants from a language model's answer."""

import json
import re
from collections.abc import Iterator
from typing import Any

from datahub_hyperjoin.model.llm.question import Question
from datahub_hyperjoin.model.signals.names import tokens

_MAX_LENGTH = 64
_MAX_WORDS = 3
"""Maximum number of words, separated by spaces, in a name; more words are a sentence."""
_NAME = re.compile(r"\w[\w .$#/-]*")
_MAX_TEXT = 100_000
"""Maximum number of characters of an answer that are searched for names."""
_NOT_JSON = (ValueError, RecursionError)
_DECODER = json.JSONDecoder()


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the complete JSON objects in a text.

    If an object is cut off, the search continues after its opening brace and finds the complete
    objects within.
    """
    start = text.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except _NOT_JSON:
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _numbered_names(value: dict[str, Any]) -> Iterator[tuple[int, str]]:
    names = value.get("names")
    for entry in names if isinstance(names, list) else [value]:
        if isinstance(entry, dict):
            number, name = entry.get("number"), entry.get("name")
            # `type` and not `isinstance`: JSON's true is an int of Python.
            if type(number) is int and isinstance(name, str):
                yield number, name


def read_names(text: str, count: int) -> dict[int, str]:
    """Extract the names that a language model's answer gives to the columns 1 to `count`.

    Args:
        text: The language model's answer; it may hold other text than JSON, or be cut off.

    Returns:
        The name for each number from 1 to `count`. Numbers with two different names are left out.

    >>> read_names('Sure! ```{"names": [{"number": 1, "name": "cust_id"}, {"number": 9}]}```', 2)
    {1: 'cust_id'}
    """
    names: dict[int, str] = {}
    ambiguous = set()
    for value in _objects(text[:_MAX_TEXT]):
        for number, name in _numbered_names(value):
            if names.setdefault(number, name) != name:
                ambiguous.add(number)
    return {
        number: name
        for number, name in sorted(names.items())
        if 1 <= number <= count and number not in ambiguous
    }


def usable_name(answer: str, question: Question) -> str | None:
    """Return a suggested name if it can be a name variant, otherwise None.

    Returns:
        The name; None if it is not a name, is too long, differs from the column's own name only in
        case and separators, or is the name of another column of the table.

    >>> orders = Question("orders", ("id", "customer"), "customer", ())
    >>> usable_name("client", orders), usable_name("CUSTOMER", orders), usable_name("Id", orders)
    ('client', None, None)
    """
    name = answer.strip()
    short = len(name) <= _MAX_LENGTH and len(name.split()) <= _MAX_WORDS
    if not short or not name.isprintable() or not _NAME.fullmatch(name):
        return None
    taken = {tokens(column) for column in (question.column, *question.columns)}
    words = tokens(name)
    return name if any(map(str.isalpha, words)) and words not in taken else None
