"""Measure what a language model's answers about uncertain columns change.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_adjudication LAKE ANSWERS.csv`.
The answers were recorded: ANSWERS.csv has a question's hash (`question`) and the number of the key
that was chosen (`key`, 0 for none). A lake has the files that `benchmarks.reference_trees` reads.
With `--questions FILE`, the questions without an answer are written to a file, one JSON document
per line.
"""

import argparse
import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
from tabulate import tabulate

from benchmarks.reference_metrics import ReferenceCounts
from benchmarks.reference_trees.examples import Name, Truth, follow
from datahub_hyperjoin import find_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.model.config import LanguageModelConfig, ModelConfig
from datahub_hyperjoin.model.llm import requests
from services.endpoint import Answer, Endpoint, Request, completion, refusing

_NEVER = 10**9
"""Number of unanswered requests after which no more are sent; many questions have no answer."""
_TOKENS = 10**9
_BYTES = 4
"""Bytes in a token of English text, to estimate the number of tokens."""


class Recorded:
    """An endpoint's behaviour: the recorded answers."""

    def __init__(self, answers: Mapping[str, int]) -> None:
        self._answers = answers
        self.asked: dict[str, str] = {}
        """The questions by their hashes."""

    def __call__(self, request: Request) -> Answer | None:
        question = request["messages"][1]["content"]
        key = hashlib.sha256(question.encode()).hexdigest()[:16]
        self.asked[key] = question
        if key not in self._answers:
            return refusing(413)(request)
        return completion(json.dumps({"key": self._answers[key]}))

    def unanswered(self) -> list[str]:
        """List the questions without a recorded answer."""
        return [question for key, question in self.asked.items() if key not in self._answers]

    def count_right(self, truth: Truth) -> tuple[int, int]:
        """Return how many of the answers are right, and how many there are.

        A key to which the column refers through another one is right, too.
        """
        right, leads = truth.right, follow(truth.right)
        known = [key for key in self.asked if key in self._answers]
        hits = 0
        for key in known:
            asked = json.loads(self.asked[key])
            column, keys = _name(asked["column"]), [*map(_name, asked["keys"])]
            chosen = self._answers[key]
            if chosen:
                hits += keys[chosen - 1] in leads.get(column, set())
            else:
                hits += not any((column, other) in right for other in keys)
        return hits, len(known)


def _name(column: Mapping[str, str]) -> Name:
    folder = column.get("folder", "")
    return f"{folder}/{column['table']}" if folder else column["table"], column["column"]


def _names(join: Join) -> Iterable[frozenset[Name]]:
    for pair in join.pairs:
        yield frozenset((end.table.name.removesuffix(".csv"), end.path) for end in pair)


def count_references(truth: Truth, joins: Iterable[Join]) -> ReferenceCounts:
    """Count the references and one-to-one joins of a run, by referring table.

    Pairs that are right and not asked for, such as references that follow from two others, do not
    count, nor do pairs of which nothing is known.
    """
    leads = follow(truth.right)
    predicted = {pair for join in joins if join.role.is_directed for pair in _names(join)}
    asked, right = ({frozenset(pair) for pair in known} for known in (truth.asked, truth.right))
    counts = Counter[tuple[str, str]]()
    for pair in predicted | asked:
        left, other = (*pair, *pair)[:2]
        is_implied = other in leads.get(left, set()) or left in leads.get(other, set())
        is_open = pair in right or is_implied or truth.are_neutral(left, other)
        if pair in asked or not is_open:
            table = min(pair)[0]
            counts[table, "predicted"] += pair in predicted
            counts[table, "declared"] += pair in asked
            counts[table, "right"] += pair in asked and pair in predicted
    tables = sorted({table for table, _ in counts})
    numbers = {
        kind: np.array([float(counts[table, kind]) for table in tables])
        for kind in ("right", "predicted", "declared")
    }
    return ReferenceCounts(**numbers)


def find(lake: Path, answers: Recorded | None) -> Sequence[Join]:
    """Find the joins of a lake with the recorded answers, or with none."""
    if answers is None:
        return _joins(lake, ModelConfig())
    never = patch.object(requests, "_MAX_FAILURES", _NEVER)
    with Endpoint().open() as endpoint, never:
        endpoint.usual = answers
        llm = LanguageModelConfig(model="recorded", base_url=endpoint.url, max_tokens=_TOKENS)
        return _joins(lake, ModelConfig(llm=llm))


def _joins(lake: Path, model: ModelConfig) -> Sequence[Join]:
    findings = find_joins(lake / "tables", sql=False, model=model).findings
    return [*findings.joins, *findings.named]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare a run without and one with the answers, and print both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lake", type=Path, help="folder of a labelled lake")
    parser.add_argument("answers", type=Path, help="recorded answers")
    parser.add_argument("--questions", type=Path, help="file for questions without an answer")
    given = parser.parse_args(arguments)
    with given.answers.open(encoding="utf-8", newline="") as file:
        recorded = Recorded({row["question"]: int(row["key"]) for row in csv.DictReader(file)})
    truth = Truth(given.lake)
    rows = []
    for title, answers in (("without", None), ("with answers", recorded)):
        counts = count_references(truth, find(given.lake, answers))
        shares = (counts.precision, counts.recall, counts.f1)
        shown = (f"{each.mean:.3f} ({each.low:.3f} to {each.high:.3f})" for each in shares)
        rows.append([title, *shown])
    print(tabulate(rows, ["", "precision", "recall", "F1"]))
    right, known = recorded.count_right(truth)
    tokens = sum(map(len, recorded.asked.values())) // _BYTES
    print(f"{len(recorded.asked)} questions of {tokens:,} tokens; {right} of {known} answers right")
    if given.questions:
        given.questions.write_text("".join(f"{each}\n" for each in recorded.unanswered()), "utf-8")


if __name__ == "__main__":
    main()
