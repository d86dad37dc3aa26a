"""Measure references, their direction and everything that a run emits, on lakes of declared keys.

Run it from a checkout: `make bench-roles LAKES="FOLDER ..."`. Each folder is a labelled lake with a
file `references.csv` of directed foreign keys. `--sempy PYTHON` adds Microsoft's SemPy
(`find_relationships`), run by an interpreter that has the package `semantic-link-sempy`.
"""

import argparse
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from benchmarks.directed_lake import Directed, DirectedLake, read_directed_lake
from benchmarks.rivals.sempy import find_relationships
from datahub_hyperjoin.evaluate import EvaluationProgress, parse_settings
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from datahub_hyperjoin.evaluate.settings import RecipeSettings, recipe_config
from datahub_hyperjoin.joins import Join, Role, Suggestion
from datahub_hyperjoin.scan import scan
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.suggest import Findings, suggest
from datahub_hyperjoin.tables import ColumnId

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Counts:
    """Counts of predicted references, from which precision and recall follow."""

    right: int
    predicted: int
    declared: int

    @property
    def precision(self) -> float:
        """Share of the predicted references that are declared."""
        return self.right / max(self.predicted, 1)

    @property
    def recall(self) -> float:
        """Share of the declared references that are predicted."""
        return self.right / max(self.declared, 1)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.right / max(self.predicted + self.declared, 1)


def count_references(lake: DirectedLake, predicted: Iterable[Directed]) -> Counts:
    """Compare predicted references with the declared ones, where the truth is whole.

    Args:
        lake: The declared references.
        predicted: Referring and referenced columns.
    """
    judged = {pair for pair in predicted if lake.is_judged(pair) and pair[0][0] != pair[1][0]}
    right = sum(lake.is_reference(pair) for pair in judged)
    return Counts(right, len(judged), len(lake.directions))


def _name(column: ColumnId) -> ColumnName:
    return ColumnName(Path(column.table.name).stem, column.path)


def _ends(join: Join) -> Directed:
    return _name(join.left), _name(join.right)


def references_of(joins: Iterable[Join]) -> Iterator[Directed]:
    """Yield the referring and the referenced column of each directed join of one column.

    Args:
        joins: Joins with roles.
    """
    for join in joins:
        if join.referring and join.referenced and not join.further:
            yield _name(join.referring), _name(join.referenced)


def count_shadowed(lake: DirectedLake, joins: Sequence[Join]) -> tuple[int, int]:
    """Count the pairs of tables whose best join is no reference though one is declared.

    Args:
        lake: The declared references.
        joins: The joins of a run.

    Returns:
        The number of such pairs of tables, and of all pairs of tables with a declared reference.
    """
    best: dict[frozenset[str], Join] = {}
    for join in sorted(joins, key=lambda join: (join.role.place, -join.joinability)):
        best.setdefault(frozenset(end.table for end in _ends(join)), join)
    tables = {frozenset(end.table for end in pair) for pair in lake.directions}
    shadowed = sum(pair in best and not best[pair].role.is_directed for pair in tables)
    return shadowed, len(tables)


def first_right(lake: DirectedLake, suggestions: Iterable[Suggestion]) -> float:
    """Return the share of foreign-key columns whose first suggestion is in the ground truth.

    Args:
        lake: The query columns with their true partners, and the declared references.
        suggestions: The suggestions of a run.
    """
    first = {_name(each.query): _name(each.candidate) for each in suggestions if each.rank == 1}
    truth = lake.labelled.truth
    columns = {referring for referring, _ in lake.directions if referring in truth}
    return sum(first.get(column) in truth[column] for column in columns) / max(len(columns), 1)


def run(folder: Path, settings: RecipeSettings) -> Findings:
    """Find the joins of a lake as an ingestion does.

    Args:
        folder: The folder of the labelled lake.
        settings: Recipe keys that differ from the defaults.
    """
    config = recipe_config(settings, folder / "tables")
    progress = EvaluationProgress(logger.info)
    progress.expect(1)
    with borrow_session(config.spark) as session:
        return suggest(
            scan(config, progress.warn, lambda: session).tables,
            session=lambda: session,
            profile=config.profile,
            model=config.model,
            progress=progress,
        )


def describe(lake: DirectedLake, findings: Findings) -> list[tuple[str, str]]:
    """Return the measurements of one run, each with its name.

    Args:
        lake: The declared references and the ground truth.
        findings: The results of the run.
    """
    joins = [join for join in findings.joins if join.left.table != join.right.table]
    judged = [join for join in joins if lake.is_judged(_ends(join))]
    true = sum(lake.is_true(_ends(join)) for join in judged)
    references = count_references(lake, references_of(joins))
    shadowed, pairs = count_shadowed(lake, joins)
    by_role = (
        (role, [join for join in judged if join.role is role and not join.further]) for role in Role
    )
    return [
        ("emitted, judged", f"{len(joins)}, {len(judged)}"),
        ("emitted, true", f"{true / max(len(judged), 1):.3f}"),
        *(
            (f"emitted as {role.value}, true", f"{_share_true(lake, some)} of {len(some)}")
            for role, some in by_role
        ),
        *_rows("references", references),
        ("table pairs led by another role", f"{shadowed} of {pairs}"),
        ("P@1 of foreign-key columns", f"{first_right(lake, findings.suggestions):.3f}"),
    ]


def _share_true(lake: DirectedLake, joins: Sequence[Join]) -> str:
    return f"{sum(lake.is_true(_ends(join)) for join in joins) / max(len(joins), 1):.3f}"


def _rows(title: str, counts: Counts) -> Iterator[tuple[str, str]]:
    yield f"{title}: precision", f"{counts.precision:.3f}"
    yield f"{title}: recall", f"{counts.recall:.3f}"
    yield f"{title}: F1", f"{counts.f1:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the measurements of each lake."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_roles", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    parser.add_argument("--set", dest="texts", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument("--sempy", metavar="PYTHON", type=Path, help="an interpreter with SemPy")
    options = parser.parse_args(arguments)
    for folder in options.folders:
        lake = read_directed_lake(folder)
        rows = describe(lake, run(folder, parse_settings(options.texts)))
        if options.sempy:
            found = find_relationships(folder / "tables", options.sempy)
            rows += _rows("SemPy", count_references(lake, found))
        print(tabulate(rows, headers=(lake.labelled.name, ""), disable_numparse=True), end="\n\n")


if __name__ == "__main__":
    main()
