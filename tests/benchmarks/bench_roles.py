"""Measure the references and other joins that are found on lakes with declared keys.

Run it from a checkout: `make bench-roles LAKES="FOLDER ..."`. Each folder is a labelled lake with a
file `references.csv` of directed foreign keys. `--sempy PYTHON` adds Microsoft's SemPy
(`find_relationships`), run by an interpreter that has the package `semantic-link-sempy`.
`--unanswerable` runs again on the lake without any answer, where every suggestion is false.
"""

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tabulate import tabulate

from benchmarks.directed_lake import DirectedLake, read_directed_lake
from benchmarks.path_rows import compare_path_rows
from benchmarks.reference_metrics import (
    ReferenceCounts,
    count_emitted,
    count_references,
    count_shadowed,
    ends_of,
    first_right,
    references_of,
)
from benchmarks.rivals.sempy import find_relationships
from benchmarks.unanswerable import write_without_answers
from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.evaluate import (
    EvaluationProgress,
    RecipeSettings,
    parse_settings,
    recipe_config,
)
from datahub_hyperjoin.evaluate.metrics import Interval
from datahub_hyperjoin.find import FindConfig, find
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.graphql import catalog_join
from datahub_hyperjoin.joins import Join, Role
from datahub_hyperjoin.scan import scan
from datahub_hyperjoin.spark.session import borrow_session

logger = logging.getLogger(__name__)


def run(tables: Path, settings: RecipeSettings) -> Findings:
    """Find the joins of a lake with the same steps as an ingestion.

    Args:
        tables: The folder with the tables of the lake.
        settings: Recipe keys that differ from the defaults.
    """
    config = recipe_config(settings, tables)
    progress = EvaluationProgress(logger.info)
    progress.expect(1)
    with borrow_session(config.spark) as session:
        return find(
            Catalog(tables=scan(config, progress.warn, lambda: session)),
            FindConfig(profile=config.profile, model=config.model),
            progress,
            lambda: session,
        )


def describe(lake: DirectedLake, findings: Findings) -> list[tuple[str, str]]:
    """Return the name and value of each measurement of a run.

    Args:
        lake: The declared references and the ground truth.
        findings: The results of the run.
    """
    joins = [join for join in findings.joins if join.left.table != join.right.table]
    judged = [join for join in joins if lake.is_judged(ends_of(join))]
    true = sum(lake.is_true(ends_of(join)) for join in judged)
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
        ("declared references emitted", f"{count_emitted(lake, joins)} of {len(lake.directions)}"),
        *_rows("references", references),
        ("table pairs led by another role", f"{shadowed} of {pairs}"),
        ("P@1 of foreign-key columns", f"{first_right(lake, findings.suggestions):.3f}"),
    ]


def describe_paths(lake: DirectedLake, findings: Findings, tables: Path) -> list[tuple[str, str]]:
    """Count the suggested paths that return the rows of a declared reference, for the report.

    Args:
        lake: The declared references.
        findings: The results of a run.
        tables: The folder with the tables of the lake.
    """
    paths = compare_path_rows(lake, map(catalog_join, findings.joins), tables)
    for path in paths.different:
        logger.warning("Other rows: %s", path)
    answered = paths.equal + paths.named + len(paths.different)
    return [
        ("paths with the declared rows", f"{paths.equal} of {answered}"),
        ("paths that name such a join beside them", str(paths.named)),
        ("paths without a choice, with the declared rows", f"{paths.alone_equal} of {paths.alone}"),
        ("table pairs without a safe path", str(paths.refused)),
        ("such pairs whose error names a join with these rows", str(paths.refused_named)),
    ]


def _share_true(lake: DirectedLake, joins: Sequence[Join]) -> str:
    return f"{sum(lake.is_true(ends_of(join)) for join in joins) / max(len(joins), 1):.3f}"


def _rows(title: str, counts: ReferenceCounts) -> Iterator[tuple[str, str]]:
    yield f"{title}: precision", _with_bounds(counts.precision)
    yield f"{title}: recall", _with_bounds(counts.recall)
    yield f"{title}: F1", _with_bounds(counts.f1)


def _with_bounds(share: Interval) -> str:
    return f"{share.mean:.3f} ({share.low:.3f} to {share.high:.3f})"


def count_false(
    lake: DirectedLake, folder: Path, settings: RecipeSettings
) -> list[tuple[str, str]]:
    """Remove the true partners of query columns, and count the joins that are still found.

    All joins of the remaining query columns are false.

    Args:
        lake: The query columns and their answers.
        folder: The folder of the labelled lake.
        settings: Recipe keys that differ from the defaults.
    """
    with TemporaryDirectory() as cut:
        columns = write_without_answers(lake.labelled, folder / "tables", Path(cut))
        joins = run(Path(cut), settings).joins
    false = [join for join in joins for end in ends_of(join) if end in columns]
    directed = [join for join in false if join.role.is_directed]
    return [
        ("columns without an answer", str(len(columns))),
        ("false joins of each", f"{len(false) / max(len(columns), 1):.3f}"),
        ("false references of each", f"{len(directed) / max(len(columns), 1):.3f}"),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark on each lake, and print the measurements."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_roles", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    parser.add_argument("--set", dest="texts", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument("--sempy", metavar="PYTHON", type=Path, help="an interpreter with SemPy")
    parser.add_argument("--unanswerable", action="store_true", help="also without any answer")
    options = parser.parse_args(arguments)
    for folder in options.folders:
        lake = read_directed_lake(folder)
        settings = parse_settings(options.texts)
        findings = run(folder / "tables", settings)
        rows = describe(lake, findings) + describe_paths(lake, findings, folder / "tables")
        if options.unanswerable:
            rows += count_false(lake, folder, settings)
        if options.sempy:
            found = find_relationships(folder / "tables", options.sempy)
            rows += _rows("SemPy", count_references(lake, found))
        print(tabulate(rows, headers=(lake.labelled.name, ""), disable_numparse=True), end="\n\n")


if __name__ == "__main__":
    main()
