"""Test that a new field of the evidence is carried by its name alone."""

import importlib
import json
from collections.abc import Iterator
from dataclasses import fields, make_dataclass, replace
from types import ModuleType
from typing import Any

import pytest

from datahub_hyperjoin import joins
from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Role, RowCounts
from datahub_hyperjoin.metadata import relationships
from lakes.lake import column

STATE, KEY = column("cities.csv.state_id"), column("states.csv.id")
VALUES: dict[str, Any] = {
    "shared": 3,
    "left_containment": 0.75,
    "right_containment": 0.5,
    "left_fan_out": 1.25,
    "right_fan_out": 2.5,
    "rows": 8,
    "compared_as": "countries",
    "rows_as_written": 4,
    "placeholders": "-1",
    "left_counts": RowCounts(total=9, filled=8, matched=7),
    "right_counts": RowCounts(total=6, filled=5, matched=None),
}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Add two fields to the evidence, as a change of `evidence.py` would."""
    new = [("left_blank", int, 0), ("right_blank", int, 0)]
    extended = make_dataclass("Evidence", new, bases=(Evidence,), frozen=True, kw_only=True)
    with monkeypatch.context() as patched:
        patched.setattr(joins, "Evidence", extended)
        yield importlib.reload(relationships)
    importlib.reload(relationships)


def join_with(evidence: Evidence) -> Join:
    return Join(
        left=STATE,
        right=KEY,
        joinability=0.9,
        evidence=evidence,
        role=Role.REFERENCE,
        referenced=KEY,
    )


def test_a_new_field_is_stored_read_back_and_turned_round(toy: ModuleType) -> None:
    evidence: Any = toy.Evidence(
        cardinality=Cardinality.MANY_ONE, **VALUES, left_blank=4, right_blank=2
    )
    assert (evidence.reversed.left_blank, evidence.reversed.right_blank) == (2, 4)
    join = join_with(evidence)
    aspect = toy.to_aspect(join, "1")
    assert aspect.customProperties["source_blank"] == "4"
    assert toy.from_aspect(aspect).evidence == evidence
    assert json.loads(toy.tag_context(join))["destination_blank"] == 2
    read, _, _ = toy.read_tag_context(toy.tag_context(join), Cardinality.MANY_ONE)
    assert read == replace(evidence, shared=-1, rows=0)
    assert toy.join_as_json(toy.catalog_join(join))["left_blank"] == 4


def test_evidence_that_was_stored_without_a_new_field_is_read(toy: ModuleType) -> None:
    evidence = toy.Evidence(cardinality=Cardinality.MANY_ONE, **VALUES, left_blank=3)
    stored = toy.to_aspect(join_with(evidence), "1")
    del stored.customProperties["source_blank"]
    assert toy.from_aspect(stored).evidence.left_blank == 0


def test_every_field_is_stored_and_read_back() -> None:
    evidence = Evidence(cardinality=Cardinality.MANY_ONE, **VALUES)
    assert VALUES.keys() == {each.name for each in fields(Evidence)} - {"cardinality"}
    stored = relationships.from_aspect(relationships.to_aspect(join_with(evidence), "1"))
    assert stored is not None
    assert stored.evidence == evidence
    for name in VALUES:
        side, _, rest = name.partition("_")
        other = {"left": f"right_{rest}", "right": f"left_{rest}"}.get(side, name)
        assert getattr(evidence.reversed, other) == getattr(evidence, name)
