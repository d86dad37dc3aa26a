"""Limit the length of answers to agents."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from datahub_hyperjoin.joins.describe import shorten
from datahub_hyperjoin.visible import visible

MOST_BYTES = 5_250
"""Maximum number of bytes in an answer: 1,500 tokens of 3.5 characters. Bytes count, because
letters outside ASCII cost more tokens."""

_CUTS = (300, 100, 30)
"""Lengths to which texts are cut in turn, until an answer is short enough."""

_TOO_LONG = "too long to show; DataHub shows it among the Highlighted Queries of both datasets"

Answer = dict[str, Any]
"""An answer to an agent: texts, and lists of texts or of further answers."""


def add_entries(
    answer: Answer, key: str, entries: Sequence[Answer], *, skip: int | None = None
) -> Answer:
    """Add entries to an answer until it is full, but leave out the first `skip` entries.

    Args:
        skip: Number of entries to leave out, because an earlier answer showed them; None if the
            agent cannot ask for the others.

    Returns:
        The answer with at least one entry, if there is one, and the number of those left out.
    """
    rest = entries[skip or 0 :]
    count = min(len(rest), 1)
    while count < len(rest) and _is_short(_with(answer, key, rest, count + 1, skip)):
        count += 1
    return _with(answer, key, rest, count, skip)


def _with(
    answer: Answer, key: str, entries: Sequence[Answer], count: int, skip: int | None
) -> Answer:
    """Add the first `count` entries to an answer, and say how many entries remain."""
    others = len(entries) - count
    hint = "" if skip is None else f"; repeat with skip={skip + count}"
    more = {"more": f"{others} more{hint}"} if others else {}
    return {**answer, key: list(entries[:count]), **more}


def to_text(answer: Answer) -> str:
    """Convert an answer to JSON of at most 1,500 tokens.

    If the answer is too long, its SQL is left out first; then texts are cut. SQL is never cut,
    because the first part of a statement may run and be wrong. Names in all other texts are made
    visible, so that none looks like instructions.
    """
    shown = _change(answer, lambda key, text: text if key == "sql" else visible(text))
    return _dump(next(filter(_is_short, _shorter(shown))))


def _shorter(answer: Answer) -> Iterator[Answer]:
    """Yield an answer, then shorter and shorter versions of it."""
    yield answer
    without = _change(answer, lambda key, text: _TOO_LONG if key == "sql" else text)
    yield without
    for most in _CUTS:
        yield _change(without, partial(_cut, most))
    yield {"answer": answer["answer"], "why": "the whole answer is too long; ask about one join"}


def _cut(most: int, _: str, text: str) -> str:
    return shorten(text, most)


def _change(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:  # noqa: ANN401
    """Replace each text in an answer, at any depth, with `change(key, text)`.

    The key is the one under which the text stands in the answer; it is `key` for a text outside
    dictionaries.
    """
    match value:
        case dict():
            return {inner: _change(held, change, inner) for inner, held in value.items()}
        case list():
            return [_change(held, change, key) for held in value]
        case str():
            return change(key, value)
        case _:
            return value


def _is_short(answer: Answer) -> bool:
    return len(_dump(answer).encode()) <= MOST_BYTES


def _dump(answer: Answer) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
