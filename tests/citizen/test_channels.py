"""Decide about joins through two channels, by two people, and compare what all readers see.

Each pair of channels has a join of its own, so that three runs try all of them.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import GlobalTagsClass, StatusClass

from datahub_hyperjoin.graphql import accept, find_join, reject
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    CONFIRMED_JOINS,
    REJECTED,
    REJECTED_JOINS,
    column_urn,
    property_urn,
)
from datahub_hyperjoin.tables import Pair, pair_of
from gms import Gms
from lakes.lake import column, describe, write_table
from lakes.quick_runs import Runs, urn_of

YES, NO = Verdict.ACCEPTED, Verdict.REJECTED
TAGS = {YES: ACCEPTED, NO: REJECTED}
PROPERTIES = {YES: CONFIRMED_JOINS, NO: REJECTED_JOINS}
ADD = """mutation($tag: String!, $urn: String!) {
  addTag(input: {tagUrn: $tag, resourceUrn: $urn})
}"""
HIDE = (
    """mutation($urn: String!) { batchUpdateSoftDeleted(input: {urns: [$urn], deleted: true}) }"""
)
LIST = """mutation($urn: String!, $property: String!, $values: [PropertyValueInput!]!) {
  upsertStructuredProperties(input: {assetUrn: $urn, structuredPropertyInputParams:
    [{structuredPropertyUrn: $property, values: $values}]}) { properties { values { __typename } } }
}"""
NAMESPACE = "io.datahub.hyperjoin"
CONFLICT = "Join accepted and rejected"

Step = tuple[str, Verdict]
"""A channel, and what a person decides there."""

STEPS: tuple[Step, ...] = (
    *product(("tag", "property", "command", "file"), (YES, NO)),
    ("hidden", NO),
)
SAME_TIME = {((channel, NO), ("tag", YES)) for channel in ("tag", "command")}
"""DataHub keeps one time for all tags of a relationship, so that a rejection that nobody removed
holds until a run has seen it."""
CASES = [(first, second) for first, second in product(STEPS, STEPS) if first != second]


@dataclass
class Lake:
    """Two tables with a pair of columns for each case."""

    gms: Gms
    folder: Path
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        for table in ("left", "right"):
            paths = [f"c{case}" for case in range(len(CASES))]
            write_table(self.folder, f"{table}.csv", {path: ["1", "2"] for path in paths})
            describe(self.gms, f"{table}.csv", paths)
        self.runs = Runs(self.gms, self.folder)

    def pair(self, case: int) -> Pair:
        return pair_of(column(f"left.csv.c{case}"), column(f"right.csv.c{case}"))

    def run(self) -> None:
        header = "left_table,left_column,right_table,right_column,decision,by,reason,when"
        file = self.folder.parent / "decisions.csv"
        file.write_text("\n".join([header, *self.lines]) + "\n")
        self.runs(map(self.pair, range(len(CASES))), decisions=str(file))

    def decide(self, case: int, step: Step) -> None:
        channel, verdict = step
        pair, urn = self.pair(case), urn_of(self.pair(case))
        left, right = map(column_urn, pair)
        if channel == "tag":
            self.gms.graphql(ADD, tag=TAGS[verdict], urn=urn)
        elif channel == "property":
            listing = property_urn(NAMESPACE, PROPERTIES[verdict])
            self.gms.graphql(LIST, urn=left, property=listing, values=[{"stringValue": right}])
        elif channel == "command":
            (accept if verdict is YES else reject)(self.gms.graph(), urn)
        elif channel == "hidden":
            self.gms.graphql(HIDE, urn=urn)
        else:
            when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
            when += f".{time.time_ns() // 1_000_000 % 1000:03}+00:00"
            name = f"c{case}"
            cells = ["left.csv", name, "right.csv", name, verdict.value, "Ann", "", when]
            self.lines.append(",".join(cells))

    def undo_lines(self) -> None:
        self.lines.clear()

    def seen(self, case: int) -> tuple[Verdict | None, bool]:
        """Return what programs read of a join, and whether people see it."""
        urn = urn_of(self.pair(case))
        status = self.gms.get(urn, StatusClass)
        found = find_join(self.gms.graph(), urn)
        return found.catalog.verdict, not (status and status.removed)


@pytest.fixture
def lake(tmp_path: Path, without_spark: None) -> Iterator[Lake]:  # noqa: ARG001 - it must not start
    with Gms() as gms:
        yield Lake(gms, tmp_path / "tables")


def test_the_later_decision_holds_in_every_channel(lake: Lake) -> None:
    lake.run()
    for position in (0, 1):
        for case, steps in enumerate(CASES):
            lake.decide(case, steps[position])
        time.sleep(0.005)
    for run in range(2):
        lake.run()
        told = [it for it in lake.runs.reports[-1].warnings if it.title == CONFLICT]
        # Every conflict is named, by the run that settles it.
        assert bool(told) is (run == 0)
        seen = {steps: lake.seen(case) for case, steps in enumerate(CASES)}
        last = {steps: NO if steps in SAME_TIME else steps[1][1] for steps in CASES}
        assert seen == {steps: (verdict, verdict is YES) for steps, verdict in last.items()}


def test_a_decision_in_the_file_is_undone_with_its_line(lake: Lake) -> None:
    lake.run()
    lake.decide(0, ("file", NO))
    lake.decide(1, ("tag", NO))
    time.sleep(0.005)
    lake.decide(1, ("file", YES))
    lake.decide(2, ("file", YES))
    lake.run()
    assert [lake.seen(case) for case in range(4)] == [
        (NO, False),
        (YES, True),
        (YES, True),
        (None, True),
    ]
    tags = lake.gms.get(urn_of(lake.pair(2)), GlobalTagsClass)
    assert tags
    [copy] = [tag.attribution for tag in tags.tags if tag.tag == ACCEPTED]
    assert copy
    assert copy.sourceDetail["by"] == "Ann"
    lake.undo_lines()
    lake.run()
    lake.run()
    # The rejection that Ann's line replaced is there again.
    assert [lake.seen(case) for case in range(3)] == [(None, True), (NO, False), (None, True)]
