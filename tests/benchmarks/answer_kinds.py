"""Measure which kinds of true joins a ranking finds, and how many have evidence in the lake.

Run it from a checkout, on a labelled lake with a file `labels.csv` and the predictions that
`make bench-rankings ... ARGS="--out DIR"` wrote:
`PYTHONPATH=tests python -m benchmarks.answer_kinds FOLDER DIR/predictions-full.csv`.

Codes and names of the same things share no value. If no third table holds both (`bridged` is 0),
nothing in the lake shows that they join, and only knowledge of the codes could.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

K = 15
"""Number of top candidates that are evaluated per query column."""


class Answer(NamedTuple):
    """A column that joins with a query column."""

    column: ColumnName
    """The column that joins with the query column."""

    kind: str
    """The kind of the pair, such as `code-name`, and how the two columns are connected."""

    is_shown: bool
    """Whether something in the lake shows that the two columns join."""


Answers = Mapping[ColumnName, Sequence[Answer]]
"""The answers of each query column."""


def read_answers(folder: Path) -> Answers:
    """For each query column, read the columns that join with it, and the kind of each join.

    Args:
        folder: The labelled lake.
    """
    answers: defaultdict[ColumnName, list[Answer]] = defaultdict(list)
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            is_bridged = row.get("bridged") == "1"
            has_values = row["kind"] not in {"code-name", "code-code"}
            kind = row["kind"] + (", through a third table" if is_bridged else "")
            candidate = ColumnName(row["candidate_table"], row["candidate_column"])
            query = ColumnName(row["query_table"], row["query_column"])
            answers[query].append(Answer(candidate, kind, has_values or is_bridged))
    return answers


def read_first(predictions: Path) -> Mapping[ColumnName, set[ColumnName]]:
    """Read the `K` best candidates of each query column.

    Args:
        predictions: The file of predictions.
    """
    first: defaultdict[ColumnName, set[ColumnName]] = defaultdict(set)
    with predictions.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            if int(row["rank"]) <= K:
                candidate = ColumnName(row["candidate_table"], row["candidate_column"])
                first[ColumnName(row["query_table"], row["query_column"])].add(candidate)
    return first


def count_kinds(
    answers: Answers, first: Mapping[ColumnName, set[ColumnName]]
) -> list[tuple[str, int, float]]:
    """Return the number of answers of each kind, and the share that is found.

    Args:
        answers: The answers of each query column.
        first: The first candidates of each query column.
    """
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for query, own in answers.items():
        for answer in own:
            found[answer.kind].append(answer.column in first.get(query, ()))
    return [(kind, len(hits), sum(hits) / len(hits)) for kind, hits in sorted(found.items())]


def share_shown(answers: Answers) -> float:
    """Return the best P@15 that the evidence allows, divided by the P@15 of a perfect ranking.

    Args:
        answers: The answers of each query column.
    """
    shown = sum(min(K, sum(answer.is_shown for answer in own)) for own in answers.values())
    return shown / sum(min(K, len(own)) for own in answers.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the number of answers of each kind, and the share that the ranking finds."""
    parser = argparse.ArgumentParser(prog="benchmarks.answer_kinds", description=__doc__)
    parser.add_argument("folder", type=Path, help="the labelled lake")
    parser.add_argument("predictions", type=Path, help="rankings of its query columns")
    options = parser.parse_args(arguments)
    answers = read_answers(options.folder)
    kinds = count_kinds(answers, read_first(options.predictions))
    print(tabulate(kinds, headers=("kind", "answers", f"in the first {K}"), floatfmt=".3f"))
    print(f"P@{K} of all answers that the lake shows: {share_shown(answers):.3f} of the ceiling")


if __name__ == "__main__":
    main()
