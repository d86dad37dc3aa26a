"""Decide about joins through two channels, by two people, and compare what all readers see.

Each pair of channels has a join of its own, so that three runs try all of them.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    DocumentInfoClass,
    GlobalTagsClass,
    StatusClass,
    StructuredPropertiesClass,
    _Aspect,
)

from datahub_hyperjoin.action.events import ChangeDetector
from datahub_hyperjoin.agents.tools import JoinTools
from datahub_hyperjoin.catalog.scope import PlatformInstance
from datahub_hyperjoin.graphql import accept, find_join, reject
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    AI_CONTEXT,
    CONFIRMED_JOINS,
    JOIN_SUGGESTIONS,
    REJECTED,
    REJECTED_JOINS,
    column_urn,
    document_urn,
    property_urn,
)
from datahub_hyperjoin.tables import Pair, pair_of
from gms import Gms
from lakes.lake import column, describe, write_table
from lakes.quick_runs import Runs, urn_of
from services.events import changed

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
EMIT = {"documents": True, "ai_context": True}
DETECTOR = ChangeDetector(
    instances=[PlatformInstance(platform="file", env="PROD")], namespace=NAMESPACE
)
ON_RELATIONSHIP = {"tag", "command", "hidden"}
CONFLICT = "Join accepted and rejected"


@dataclass(frozen=True)
class Seen:
    """What people, programs and agents see of a join."""

    relationship: Verdict | None
    visible: bool
    columns: str
    instructions: str
    agents: str


def mark(texts: list[str]) -> str:
    """Tell how a column, a document or instructions name a join."""
    text = "".join(texts)
    return "accepted" if "accepted" in text else "suggested" if "c" in text else ""


EXPECTED = {
    YES: Seen(YES, True, "accepted", "accepted", "accepted by people"),  # noqa: FBT003
    NO: Seen(NO, False, "", "", "rejected by people"),  # noqa: FBT003
}

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
    cases: int
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        for table in ("left", "right"):
            paths = [f"c{case}" for case in range(self.cases)]
            write_table(self.folder, f"{table}.csv", {path: ["1", "2"] for path in paths})
            describe(self.gms, f"{table}.csv", paths)
        self.runs = Runs(self.gms, self.folder)

    def pair(self, case: int) -> Pair:
        return pair_of(column(f"left.csv.c{case}"), column(f"right.csv.c{case}"))

    def run(self) -> None:
        header = "left_table,left_column,right_table,right_column,decision,by,reason,when"
        file = self.folder.parent / "decisions.csv"
        file.write_text("\n".join([header, *self.lines]) + "\n")
        self.runs(map(self.pair, range(self.cases)), decisions=str(file), emit=EMIT)

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

    def stated(self, case: int) -> list[object]:
        """Return what people state in the properties of the columns."""
        urns = {property_urn(NAMESPACE, name) for name in PROPERTIES.values()}
        return [
            each.to_obj()
            for end in self.pair(case)
            if (own := self.gms.get(column_urn(end), StructuredPropertiesClass))
            for each in own.properties
            if each.propertyUrn in urns
        ]

    def undo_lines(self) -> None:
        self.lines.clear()

    def seen(self, case: int) -> Seen:
        """Return what people, programs and agents see of a join."""
        urn, left = urn_of(self.pair(case)), column_urn(self.pair(case)[0])
        status = self.gms.get(urn, StatusClass)
        found = find_join(self.gms.graph(), urn)
        own = self.gms.get(left, StructuredPropertiesClass)
        texts = property_urn(NAMESPACE, JOIN_SUGGESTIONS)
        listed = own.properties if own else []
        return Seen(
            relationship=found.verdict,
            visible=not (status and status.removed),
            columns=mark([str(each.values) for each in listed if each.propertyUrn == texts]),
            instructions=mark([str(self.gms.aspects(left).get(AI_CONTEXT, ""))]),
            agents=str(JoinTools(self.gms.graph()).explain_join(urn)["decided"]),
        )

    def document_says(self, case: int) -> str:
        document = self.gms.get(document_urn(self.pair(case)[0].table), DocumentInfoClass)
        text = document.contents.text if document else ""
        return mark([line for line in text.splitlines() if f"`c{case} " in line])

    def heard(self, case: int, step: Step) -> set[bool]:
        """Decide, and return whether the action hears of each aspect that this changes."""
        pair = self.pair(case)
        aspects: list[tuple[str, type[_Aspect]]] = [
            (urn_of(pair), GlobalTagsClass),
            (urn_of(pair), StatusClass),
            (column_urn(pair[0]), StructuredPropertiesClass),
        ]
        before = [self.gms.get(urn, kind) for urn, kind in aspects]
        self.decide(case, step)
        return {
            DETECTOR.detect(changed(urn, now, then)) is not None
            for (urn, kind), then in zip(aspects, before, strict=True)
            if (now := self.gms.get(urn, kind)) != then
        }


@pytest.fixture
def lake(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    without_spark: None,  # noqa: ARG001 - it must not start
) -> Iterator[Lake]:
    with Gms() as gms:
        yield Lake(gms, tmp_path / "tables", getattr(request, "param", len(STEPS)))


@pytest.mark.parametrize("lake", [len(CASES)], indirect=True)
def test_the_later_decision_holds_in_every_channel(lake: Lake) -> None:
    lake.run()
    for position in (0, 1):
        # The action hears all but lines of the file, and runs the recipe at once.
        heard = {steps: lake.heard(case, steps[position]) for case, steps in enumerate(CASES)}
        assert {steps for steps in CASES if heard[steps] != {True}} <= {
            steps for steps in CASES if steps[position][0] == "file" or repeats(steps)
        }
        time.sleep(0.005)
    # The first run is that of the action, the second one that of the schedule.
    for run in range(2):
        lake.run()
        warned = any(it.title == CONFLICT for it in lake.runs.reports[-1].warnings)
        # Every conflict is named, by the run that settles it.
        assert warned is (run == 0)
        last = {steps: NO if steps in SAME_TIME else steps[1][1] for steps in CASES}
        seen = {steps: lake.seen(case) for case, steps in enumerate(CASES)}
        assert seen == {steps: EXPECTED[verdict] for steps, verdict in last.items()}
        # A document has room for some of so many joins.
        told = {(last[steps], lake.document_says(case)) for case, steps in enumerate(CASES)}
        assert told == {(YES, "accepted"), (YES, ""), (NO, "")}


def repeats(steps: tuple[Step, Step]) -> bool:
    """Return whether the second decision leaves the relationship as the first one."""
    return steps[0][1] is steps[1][1] and {channel for channel, _ in steps} <= ON_RELATIONSHIP


def test_no_decision_is_written_into_the_properties_of_people(lake: Lake) -> None:
    lake.run()
    for case, step in enumerate(STEPS):
        lake.decide(case, step)
    stated = [*map(lake.stated, range(len(STEPS)))]
    lake.run()
    lake.run()
    assert [*map(lake.stated, range(len(STEPS)))] == stated


@pytest.mark.parametrize("verdict", [YES, NO])
def test_a_decision_that_a_person_repeats_outlives_the_line_of_the_file(
    lake: Lake, verdict: Verdict
) -> None:
    lake.run()
    lake.decide(0, ("file", verdict))
    lake.run()
    lake.decide(0, ("command", verdict))
    lake.undo_lines()
    lake.run()
    lake.run()
    assert lake.seen(0) == EXPECTED[verdict]


def test_a_decision_in_the_file_is_undone_with_its_line(lake: Lake) -> None:
    lake.run()
    lake.decide(0, ("file", NO))
    lake.decide(1, ("tag", NO))
    time.sleep(0.005)
    lake.decide(1, ("file", YES))
    lake.decide(2, ("file", YES))
    lake.run()
    assert [lake.seen(case).relationship for case in range(4)] == [NO, YES, YES, None]
    assert [lake.seen(case).visible for case in range(4)] == [False, True, True, True]
    tags = lake.gms.get(urn_of(lake.pair(2)), GlobalTagsClass)
    assert tags
    [copy] = [tag.attribution for tag in tags.tags if tag.tag == ACCEPTED]
    assert copy
    assert copy.sourceDetail["by"] == "Ann"
    lake.undo_lines()
    lake.run()
    lake.run()
    # The rejection that Ann's line replaced is there again.
    assert [lake.seen(case).relationship for case in range(3)] == [None, NO, None]
    assert [lake.seen(case).visible for case in range(3)] == [True, False, True]
