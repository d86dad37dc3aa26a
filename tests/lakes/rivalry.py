"""Make small labelled lakes, and rank their columns with a rival method."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.rivals.cells import Cells
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import EvaluationProgress, ProfiledLake, RankingMethod
from lakes.lake import Columns, write_table


def named(text: str) -> ColumnName:
    """Convert a text such as `table.column` to a column name."""
    table, _, column = text.partition(".")
    return ColumnName(table, column)


def suite(folder: Path, tables: Mapping[str, Columns], *queries: str) -> LabelledLake:
    """Write tables, and return a lake with query columns.

    The ground truth is empty, because no test measures the rankings.
    """
    for table, columns in tables.items():
        write_table(folder / "tables", f"{table}.csv", columns)
    headers = {table: frozenset(columns) for table, columns in tables.items()}
    return LabelledLake(folder, headers, {named(query): frozenset() for query in queries})


def ask(
    rival: RankingMethod, lake: LabelledLake, seed: int = 0
) -> dict[str, list[tuple[str, float]]]:
    """Return the ranked candidates for each query column, with their scores."""
    rankings = rival.rank(
        ProfiledLake(lake, (), 0.0),
        seed=seed,
        models=lake.folder / "models",
        progress=EvaluationProgress(lambda _: None),
    )
    return {
        str(query): [(str(ranked.candidate), ranked.score) for ranked in ranking]
        for query, ranking in rankings.items()
    }


def cells(**columns: Sequence[str]) -> list[Cells]:
    """Make columns with the given values. Each is alone in a table of the same name."""
    return [
        Cells(ColumnName(name, name), {value: values.count(value) for value in values})
        for name, values in columns.items()
    ]
