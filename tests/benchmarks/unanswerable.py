"""Remove columns until no query column of a lake has a join, to count false suggestions."""

import csv
import shutil
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

import networkx as nx

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake


def choose_columns(
    truth: Mapping[ColumnName, Collection[ColumnName]],
) -> tuple[frozenset[ColumnName], frozenset[ColumnName]]:
    """Choose one query column to keep from each group of joining columns, and drop the others.

    Args:
        truth: The columns that join with each query column.

    Returns:
        The query columns to keep, and the columns to drop. No two kept columns join.
    """
    graph: nx.Graph[ColumnName] = nx.Graph(
        (query, answer) for query, answers in truth.items() for answer in answers
    )
    groups = list(nx.connected_components(graph))
    kept = frozenset(min(group & truth.keys()) for group in groups)
    return kept, frozenset().union(*groups) - kept


def write_without_answers(lake: LabelledLake, tables: Path, out: Path) -> frozenset[ColumnName]:
    """Copy a lake, but drop columns so that no remaining query column has a join.

    Args:
        lake: The query columns and their answers.
        tables: The folder with the lake's tables, as CSV files.
        out: The folder to write to; it must exist.

    Returns:
        The query columns that remain. Every suggestion for one of them is false.
    """
    kept, dropped = choose_columns(lake.truth)
    columns: defaultdict[str, set[str]] = defaultdict(set)
    for table, column in dropped:
        columns[table].add(column)
    for path in sorted(tables.glob("*.csv")):
        if path.stem in columns:
            _copy_without(columns[path.stem], path, out / path.name)
        else:
            shutil.copyfile(path, out / path.name)
    return kept


def _copy_without(columns: Collection[str], source: Path, target: Path) -> None:
    with (
        source.open(encoding="utf-8-sig", newline="") as read,
        target.open("w", encoding="utf-8", newline="") as write,
    ):
        rows, writer = csv.reader(read), csv.writer(write)
        header = next(rows)
        places = [place for place, name in enumerate(header) if name not in columns]
        writer.writerow([header[place] for place in places])
        writer.writerows([row[place] for place in places if place < len(row)] for row in rows)
