"""Build the answers that agents get about joins, of a limited length.

An answer first says whether a safe join is known. It never offers a guess.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from datahub_hyperjoin.graphql.find import choose_column
from datahub_hyperjoin.joins import Join, reasons_unsafe
from datahub_hyperjoin.joins.describe import Phrases, describe, shorten, summarize
from datahub_hyperjoin.sql.paths import write_path_sql
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
    """Add entries to an answer until it is full, but leave out the first `skip` entries."""
    rest = entries[skip or 0 :]
    filled = {**answer, key: []}
    for number in range(1, len(rest) + 1):
        hint = "" if skip is None else f"; repeat with skip={skip + number}"
        others = len(rest) - number
        more = {"more": f"{others} more{hint}"} if others else {}
        longer = {**answer, key: list(rest[:number]), **more}
        if number > 1 and not _is_short(longer):
            break
        filled = longer
    return filled


def to_text(answer: Answer) -> str:
    """Convert an answer to JSON of at most 1,500 tokens."""
    # If the answer is too long, its SQL is left out first; then texts are cut. SQL is never cut,
    # because the first part of a statement may run and be wrong. Names in all other texts are made
    # visible, so that none looks like instructions.
    shown = _change(answer, lambda key, text: text if key == "sql" else visible(text))
    without = _change(shown, lambda key, text: _TOO_LONG if key == "sql" else text)
    cut = (_change(without, partial(_cut, most)) for most in _CUTS)
    last = {"answer": shown["answer"], "why": "the whole answer is too long; ask about one join"}
    return _dump(next(filter(_is_short, chain([shown, without], cut, [last]))))


def _cut(most: int, _: str, text: str) -> str:
    return shorten(text, most)


def _change(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:  # noqa: ANN401
    """Replace each text in an answer, at any depth, with `change(key, text)`."""
    # The key is the one under which the text stands in the answer; it is `key` for a text outside
    # dictionaries.
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


def joins_of_named(joins: Sequence[Join], name: str) -> list[Join]:
    """Select the joins of the column that an agent names."""
    if not joins:
        return []
    table = joins[0].left.table
    chosen = choose_column(name, set().union(*(join.paths_in(table) for join in joins)), table.name)
    return [join for join in joins if chosen in join.paths_in(table)]


NO_SAFE_JOIN = "no safe join known"
CHOOSE = "choose one"

ASK = "Do not join them on a guess: ask the user, or a person who may accept a join"
_CHOOSE = "Joins marked `choose` give other rows than each other. Ask the user which one is meant"
_SQL_IS_TESTED = "tested: it returned the expected rows when a run wrote it"
_SQL_IS_WRITTEN = (
    "not run: check its number of rows, because values may differ in case, spaces or type"
)
_NO_SQL = "none: the values must be converted, or the datasets are in several systems"

Statements = Mapping[str, str]
"""Tested SQL, by the URN of the join."""


def list_joins_of(name: str, joins: Sequence[Join], *, min_score: float, skip: int = 0) -> Answer:
    """Build the answer that lists a dataset's joins, safe joins first."""
    listed = list_with_reasons(joins, min_score=min_score)
    ordered = sorted(listed, key=lambda words: "unsafe" in words)
    safe = sum("unsafe" not in words for words in ordered)
    answer: Answer = {"answer": _count(safe), "of": name, "unsafe": len(joins) - safe}
    return add_entries(answer, "joins", ordered, skip=skip)


def _count(safe: int) -> str:
    return {0: NO_SAFE_JOIN, 1: "1 safe join"}.get(safe, f"{safe} safe joins")


def list_with_reasons(joins: Sequence[Join], *, min_score: float) -> list[Phrases]:
    """Summarise each join, with any reasons why it is not safe."""
    reasons = ("; ".join(reasons_unsafe(join, min_score=min_score)) for join in joins)
    return [
        {**summarize(join), **({"unsafe": unsafe} if unsafe else {})}
        for join, unsafe in zip(joins, reasons, strict=True)
    ]


def suggest_safe_joins(
    name: str, safe: Sequence[Join], statements: Statements, *, skip: int = 0
) -> Answer:
    """Build the answer that describes a dataset's safe joins, with their SQL."""
    # A person has to choose among safe joins with one table that alike repeat rows or do not.
    rivals = Counter((join.right.table, join.to_one) for join in safe)
    answer: Answer = {"answer": _count(len(safe)), "of": name}
    if max(rivals.values()) > 1:
        answer |= {"next": _CHOOSE, **({"answer": CHOOSE} if len(rivals) == 1 else {})}
    entries = []
    for join in safe:
        others = rivals[join.right.table, join.to_one]
        choice = {"choose": f"{others} safe joins with this dataset"} if others > 1 else {}
        entries.append({**describe(join), **choice, **sql_of([join], statements)})
    return add_entries(answer, "joins", entries, skip=skip)


def sql_of(joins: Sequence[Join], statements: Statements) -> Answer:
    """Return the SQL of a path of joins, and say whether that SQL was tested."""
    tested = [statements[join.urn] for join in joins if join.urn in statements]
    if len(tested) == len(joins):
        return {"sql": tested, "sql_is": _SQL_IS_TESTED}
    written = write_path_sql(joins)
    return {"sql": written, "sql_is": _SQL_IS_WRITTEN} if written else {"sql_is": _NO_SQL}


def answer_none_safe(name: str, joins: Sequence[Join], *, min_score: float) -> Answer:
    """Build the answer that none of the joins is safe, with the reasons."""
    answer: Answer = {"answer": NO_SAFE_JOIN, "of": name, "next": ASK}
    return add_entries(answer, "unsafe", list_with_reasons(joins, min_score=min_score))


def assess_join(join: Join, statements: Statements, *, min_score: float) -> Answer:
    """Build the answer about one join: its safety and its description."""
    reasons = reasons_unsafe(join, min_score=min_score)
    if reasons:
        verdict = {"answer": "not safe", "unsafe": "; ".join(reasons), "next": ASK}
        return {**verdict, **describe(join), "urn": join.urn}
    return {"answer": "safe", **describe(join), **sql_of([join], statements), "urn": join.urn}
