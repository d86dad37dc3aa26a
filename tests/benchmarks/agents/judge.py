"""Compare an answer of HyperJoin's server for agents with what a right answer says."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.agents.answers import texts
from datahub_hyperjoin.names import without_extension

Pairs = frozenset[frozenset[tuple[str, str]]]
"""The columns of a join, in no order, each as the short name of its table and its path."""

_KINDS = {
    "safe": r"safe|safe path|\d+ safe joins?",
    "choose": "choose one",
    "none": "no safe join known|not safe",
    "unknown": "unknown or ambiguous name",
}
_DOUBTED = ("unsafe", "not_used", "also", "paths", "choices")
"""The parts of an answer whose joins it does not call safe."""

_EXTENSION = re.compile(r"\.(csv|parquet)(?=\.)")


@dataclass(frozen=True)
class Judged:
    """What is wrong with an answer."""

    faults: Sequence[str]
    """Each fault in words."""

    is_confidently_wrong: bool
    """Whether an agent would use a wrong join, or wrong rows."""

    @property
    def is_right(self) -> bool:
        """Whether the answer has no fault."""
        return not self.faults


def read_pairs(condition: str) -> Pairs:
    """Read the columns of a join, as answers and questions write it.

    >>> read_pairs("shop/orders.csv.key → users.id") == read_pairs("users.id = orders.key")
    True
    """
    parts = (re.split(" [=→←] ", part) for part in condition.split(" and "))
    return frozenset(frozenset(map(_column, part)) for part in parts)


def _column(name: str) -> tuple[str, str]:
    table, _, path = _EXTENSION.sub("", name.strip()).partition(".")
    return table.rpartition("/")[2], path


def judge(text: str, expected: Mapping[str, Any], folder: Path) -> Judged:
    """Compare an answer with what a right answer says.

    Args:
        text: The answer.
        expected: The question of `asked.yml`.
        folder: The tables, on which SQL of the answer is run.
    """
    answer = json.loads(text)
    kind = next(name for name, words in _KINDS.items() if re.fullmatch(words, answer["answer"]))
    named = {read_pairs(join) for join in _conditions(answer)}
    safe = list(_called_safe(answer)) if kind == "safe" else []
    wanted = [[*map(read_pairs, one.split(" or "))] for one in expected.get("joins", ())]
    never = {read_pairs(one) for one in expected.get("never", ())}
    called = {read_pairs(entry["join"]) for entry in safe}
    allowed = {pairs for either in wanted for pairs in either}
    call = expected["call"]
    stray = called - allowed if call.get("other") or call["tool"] == "explain_join" else set()
    confident = [
        *([] if kind in expected["answer"] else [f"it says {answer['answer']!r}"]),
        *(f"{_words(each)} is not named" for each in wanted if named.isdisjoint(each)),
        *(f"{_words([each])} is called safe" for each in called & never | stray),
        *_grain_faults(answer, safe, expected.get("grain")),
        *(_sql_faults(answer, folder) if kind == "safe" else ()),
    ]
    known = " ".join(texts(answer))
    absent = [each for each in expected.get("mentions", ()) if each not in known]
    faults = [*confident, *(f"{each!r} is not mentioned" for each in absent)]
    return Judged(faults, is_confidently_wrong=kind == "safe" and bool(confident))


def _conditions(answer: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield all joins that an answer names."""
    for text in texts(answer):
        for part in re.split("; |, then ", text):
            if re.search(" [=→←] ", part) and not part.startswith("SELECT"):
                yield re.sub(r",? \(?[\d.]+[,)].*$", "", part)


def _called_safe(answer: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - JSON
    """Yield the descriptions of joins that an answer calls safe."""
    match answer:
        case {"unsafe": str()}:
            return
        case {"join": str()}:
            yield answer
        case dict():
            for key, inner in answer.items():
                if key not in _DOUBTED:
                    yield from _called_safe(inner)
        case list():
            for inner in answer:
                yield from _called_safe(inner)
        case _:
            return


def _grain_faults(
    answer: Mapping[str, Any], safe: Sequence[Mapping[str, Any]], grain: str | None
) -> Iterator[str]:
    told = [answer["grain"]] if "grain" in answer else [each.get("grain", "") for each in safe]
    for each in told if grain else ():
        of = re.search(r"one row for each row of (\S+?),? (?:that|and)|^(\S+)$", each)
        table = of and without_extension(of[1] or of[2]).rpartition("/")[2]
        if table != grain:
            yield f"its grain is {each!r}"


def _sql_faults(answer: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Run the statements of an answer in the folder of the tables."""
    found = (entry.get("sql") for entry in (answer, *answer.get("joins", ())))
    connection = duckdb.connect()
    connection.execute("SET file_search_path = ?", [str(folder)])
    for sql in filter(None, found):
        if fault := _fault_of(sql, connection):
            yield f"its SQL fails: {fault}"


def _fault_of(sql: object, connection: duckdb.DuckDBPyConnection) -> str:
    if not isinstance(sql, str):
        return "not one statement"
    try:
        connection.sql(sql).limit(1).fetchall()
    except duckdb.Error as error:
        return str(error)
    return ""


def _words(either: Sequence[Pairs]) -> str:
    return " or ".join(
        " and ".join(sorted(" = ".join(sorted(".".join(end) for end in pair)) for pair in pairs))
        for pairs in either
    )
