"""What of a language model's answer can be used: names that a column could have, and no others."""

import json
import re
from collections.abc import Iterator
from typing import Any

from datahub_hyperjoin.model.llm.question import Question
from datahub_hyperjoin.model.signals.names import tokens

_LONGEST = 64
_MOST_WORDS = 3
"""Words between spaces; more are a sentence."""
_NAME = re.compile(r"\w[\w .$#/-]*")
_LONGEST_TEXT = 100_000
"""Characters of an answer that are looked through."""
_FAILED = (ValueError, RecursionError)
_DECODER = json.JSONDecoder()


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object of a text that is whole; one that is cut off gives its parts."""
    place = text.find("{")
    while place >= 0:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except _FAILED:
            end = place + 1
        else:
            yield value
        place = text.find("{", end)


def _numbered(value: dict[str, Any]) -> Iterator[tuple[int, str]]:
    listed = value.get("names")
    for entry in listed if isinstance(listed, list) else [value]:
        if isinstance(entry, dict):
            number, name = entry.get("number"), entry.get("name")
            if type(number) is int and isinstance(name, str):
                yield number, name


def read_names(text: str, count: int) -> dict[int, str]:
    """Finds numbered names in a text, whatever stands around them.

    Args:
        text: What the language model wrote; it need not be JSON as a whole, nor whole at all.
        count: How many columns it was asked about.

    Returns:
        What it said of each number from 1 to `count`; a number with two answers has none.

    >>> read_names('Sure! ```{"names": [{"number": 1, "name": "cust_id"}, {"number": 9}]}```', 2)
    {1: 'cust_id'}
    """
    found: dict[int, str] = {}
    doubtful = set()
    for value in _objects(text[:_LONGEST_TEXT]):
        for number, name in _numbered(value):
            if found.setdefault(number, name) != name:
                doubtful.add(number)
    return {
        number: name
        for number, name in sorted(found.items())
        if 1 <= number <= count and number not in doubtful
    }


def usable_name(said: str, question: Question) -> str | None:
    """Takes a name that the column could have in another table.

    Args:
        said: What the language model said.
        question: What it was asked.

    Returns:
        The name; None for what is no name, too long, the same in another writing, or the name of
        another column of the table.

    >>> orders = Question("orders", ("id", "customer"), "customer", ())
    >>> usable_name("client", orders), usable_name("CUSTOMER", orders), usable_name("Id", orders)
    ('client', None, None)
    """
    name = said.strip()
    fits = len(name) <= _LONGEST and len(name.split()) <= _MOST_WORDS
    if not fits or not name.isprintable() or not _NAME.fullmatch(name):
        return None
    taken = {tokens(other) for other in (question.column, *question.columns)}
    words = tokens(name)
    return name if any(map(str.isalpha, words)) and words not in taken else None
