"""A method's answers as a file."""

import csv
from pathlib import Path

from datahub_hyperjoin.evaluate.suite import Rankings

HEADER = (
    "query_table",
    "query_column",
    "rank",
    "candidate_table",
    "candidate_column",
    "score",
)


def write_predictions(path: Path, rankings: Rankings) -> None:
    """Writes one line an answer, ranks from 1 without gaps.

    Args:
        path: The file; its folder is made where it is missing.
        rankings: The answers, best first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(HEADER)
        for query, answers in rankings.items():
            for place, (candidate, score) in enumerate(answers, start=1):
                writer.writerow([*query, place, *candidate, f"{score:.6f}"])
