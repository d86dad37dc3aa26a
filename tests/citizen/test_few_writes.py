"""Test that small changes of scores are not written, and that important changes are."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.joins import CatalogEvidence, Join
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn, query_urn
from datahub_hyperjoin.tables import pair_of
from gms import Gms
from lakes.lake import codes, column, describe_folder, write_table
from lakes.quick_runs import Runs, join_of, shown, urn_of

TABLES, COLUMNS = 11, 6
LAYERS = {"queries": True, "lineage": True}


@pytest.fixture
def joins(gms: Gms, lake: Path) -> list[Join]:
    """Write tables that the catalog knows, and make sixty joins between them."""
    for table in range(TABLES):
        write_table(
            lake,
            f"t{chr(97 + table)}.csv",
            {f"c{at}": codes(f"{table}-{at}-") for at in range(COLUMNS)},
        )
    describe_folder(gms, lake)
    scores = np.random.default_rng(0).uniform(0.4, 1, (TABLES - 1) * COLUMNS)
    ends = [(table, at) for table in range(TABLES - 1) for at in range(COLUMNS)]
    return [
        join_of(
            pair_of(
                column(f"t{chr(97 + table)}.csv.c{at}"), column(f"t{chr(98 + table)}.csv.c{at}")
            ),
            float(score),
        )
        for (table, at), score in zip(ends, scores, strict=True)
    ]


def decide(gms: Gms, *words: str) -> None:
    done = CliRunner().invoke(main, list(words), env={"DATAHUB_GMS_URL": gms.url})
    assert done.exit_code == 0, done.output


def told(join: Join) -> Join:
    """Return a join with a slightly lower score, since people decided about its relatives."""
    catalog = CatalogEvidence(told=(1, 1))
    return replace(join, joinability=join.joinability - 0.03, catalog=catalog)


def test_eleven_decisions_rewrite_what_they_concern(
    gms: Gms, quick: Runs, joins: list[Join]
) -> None:
    quick(joins, emit=LAYERS)
    pairs = [pair_of(join.left, join.right) for join in joins]
    accepted, rejected = pairs[10:15], pairs[20:26]
    decide(gms, "accept", *map(urn_of, accepted))
    decide(gms, "reject", *map(urn_of, rejected))
    before = len(gms.writes)
    quick.model_version = "2"
    moved = [told(join) for join in joins]
    report = quick([*moved], emit=LAYERS)
    assert report.models_trained == 0
    written = [write for write in gms.writes[before:] if write.entity != "dataJob"]
    decided = [*accepted, *rejected]
    ends = {end for pair in decided for end in pair}
    relationships = [*map(urn_of, decided)]
    concerned = {*map(column_urn, ends), *relationships, *map(query_urn, relationships)}
    concerned |= {dataset_urn(end.table) for end in ends}
    assert {write.urn for write in written} <= concerned
    assert 0 < len(written) <= 8 * len(decided)
    assert shown(gms) == {*pairs}.difference(rejected)
    before = len(gms.writes)
    quick([*moved], emit=LAYERS)
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}


def test_a_drift_is_written_once_it_is_large(gms: Gms, quick: Runs, joins: list[Join]) -> None:
    start = replace(joins[0], joinability=0.79)
    seen = []
    for step in range(6):
        quick([replace(start, joinability=start.joinability - 0.02 * step)])
        [join] = all_joins(gms.graph())
        seen.append(join.joinability)
    assert seen == [0.79, 0.79, 0.79, 0.73, 0.73, 0.73]


def test_decisions_are_heard_at_once_and_train_nothing(
    gms: Gms, ingest: Callable[..., str]
) -> None:
    ingest("--no-default-report", emit=LAYERS)
    first, second, *_ = sorted(all_joins(gms.graph()), key=lambda join: join.urn)
    decide(gms, "accept", first.urn)
    decide(gms, "reject", second.urn)
    before = len(gms.writes)
    output = ingest("--no-default-report", emit=LAYERS)
    assert "'models_trained': 0" in output
    assert len(gms.writes) - before <= 20
    urns = {join.urn for join in all_joins(gms.graph())}
    assert first.urn in urns
    assert second.urn not in urns
