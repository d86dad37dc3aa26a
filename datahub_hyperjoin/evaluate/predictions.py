"""Write a method's rankings to a CSV file."""

import csv
from pathlib import Path

from datahub_hyperjoin.evaluate.labelled_lake import Rankings
from datahub_hyperjoin.storage import replacing

_HEADER = (
    "query_table",
    "query_column",
    "rank",
    "candidate_table",
    "candidate_column",
    "score",
)


def write_predictions(path: Path, rankings: Rankings) -> None:
    """Write rankings to a CSV file, one line per candidate.

    Ranks start at 1.

    Args:
        path: The file; its folder is created if necessary.
    """
    with (
        replacing(path, private=False) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as opened,
    ):
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(_HEADER)
        for query, ranking in rankings.items():
            for rank, (candidate, score) in enumerate(ranking, start=1):
                writer.writerow([*query, rank, *candidate, f"{score:.6f}"])
