"""Benchmarks of a line or two, and what a rival answers on them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from datahub_hyperjoin.evaluate.methods import EvaluatedLake, Method
from datahub_hyperjoin.evaluate.progress import Narration
from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.suite import ColumnName, Suite
from lake import Columns, write_table


def named(text: str) -> ColumnName:
    """A column by `table.column`."""
    table, _, column = text.partition(".")
    return ColumnName(table, column)


def suite(folder: Path, tables: Mapping[str, Columns], *queries: str) -> Suite:
    """Writes tables, and asks about columns of them; nothing is right, since nothing is scored."""
    for table, columns in tables.items():
        write_table(folder / "tables", f"{table}.csv", columns)
    headers = {table: frozenset(columns) for table, columns in tables.items()}
    return Suite(folder, headers, {named(query): frozenset() for query in queries})


def ask(rival: Method, asked: Suite, seed: int = 0) -> dict[str, list[tuple[str, float]]]:
    """The answers to every query, and how sure the rival is of each."""
    found = rival.rank(
        EvaluatedLake(asked, (), 0.0),
        seed=seed,
        models=asked.folder / "models",
        progress=Narration(lambda _: None),
    )
    return {
        str(query): [(str(answer.candidate), answer.score) for answer in answers]
        for query, answers in found.items()
    }


def cells(**columns: Sequence[str]) -> list[Cells]:
    """Columns in tables of their own, which are called like them."""
    return [
        Cells(ColumnName(name, name), {value: values.count(value) for value in values})
        for name, values in columns.items()
    ]
