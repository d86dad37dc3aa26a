"""Test the instructions for agents in the metadata of columns, over several runs."""

from pathlib import Path
from typing import Any

import pytest
from datahub.metadata import schema_classes

from datahub_hyperjoin.emit.contexts import read_contexts
from datahub_hyperjoin.metadata.urns import AI_CONTEXT, column_urn
from datahub_hyperjoin.tables import ColumnId
from gms import Gms
from lakes.lake import describe_folder, table
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs

# Clients before release 1.7 have no class for the aspect.
Context: Any = getattr(schema_classes, "AiContextClass", None)
pytestmark = pytest.mark.skipif(Context is None, reason="the client is older than the aspect")

EMIT = {"ai_context": True}
THEIRS = "Ask the revenue team before you join this."
CARRIER_URN = column_urn(ColumnId(table("flights.csv"), "carrier"))
AIRLINE_URN = column_urn(ColumnId(table("airlines.csv"), "carrier"))


def text(gms: Gms, column: str) -> str:
    return read_contexts(gms.graph(), [column]).get(column, "")


def contexts_written(gms: Gms) -> list[str]:
    return sorted(write.urn for write in gms.writes if write.aspect == AI_CONTEXT)


def test_columns_name_their_safe_joins_until_they_have_none(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=EMIT)
    assert "airlines.csv.carrier`; " in text(gms, CARRIER_URN)
    assert "flights.csv.carrier`; " in text(gms, AIRLINE_URN)
    gms.writes.clear()
    quick(ALL, emit=EMIT)
    assert contexts_written(gms) == []
    quick([ORIGIN, PLANE], emit=EMIT)
    assert contexts_written(gms) == sorted([CARRIER_URN, AIRLINE_URN])
    assert text(gms, CARRIER_URN) == text(gms, AIRLINE_URN) == ""


def test_what_somebody_else_wrote_stays(gms: Gms, quick: Runs) -> None:
    gms.put(CARRIER_URN, Context(instructions=THEIRS), pipeline="osi")
    quick(ALL, emit=EMIT)
    # A person replaces ours, too, and no later run changes or removes it.
    gms.put(AIRLINE_URN, Context(instructions=THEIRS))
    gms.writes.clear()
    quick(ALL, emit=EMIT)
    quick([PLANE], emit=EMIT)
    quick([PLANE])
    assert text(gms, CARRIER_URN) == text(gms, AIRLINE_URN) == THEIRS
    assert {CARRIER_URN, AIRLINE_URN}.isdisjoint(contexts_written(gms))


def test_the_other_parts_of_the_aspect_stay(gms: Gms, quick: Runs) -> None:
    gms.put(CARRIER_URN, Context(synonyms=["airline"], customInstructions="Say 'airline'."))
    quick([CARRIER], emit=EMIT)
    held: Any = gms.get(CARRIER_URN, Context)
    assert (held.synonyms, held.customInstructions) == (["airline"], "Say 'airline'.")
    assert held.instructions
    quick([PLANE], emit=EMIT)
    held = gms.get(CARRIER_URN, Context)
    assert (held.synonyms, held.instructions) == (["airline"], None)


def test_a_layer_that_is_off_takes_its_texts_back(gms: Gms, quick: Runs) -> None:
    quick([CARRIER], emit=EMIT)
    quick([CARRIER])
    assert text(gms, CARRIER_URN) == ""


def test_a_server_without_the_aspect_is_named_in_a_warning(lake: Path) -> None:
    with Gms(without=[AI_CONTEXT]) as older:
        describe_folder(older, lake)
        report = Runs(older, lake)(ALL, emit=EMIT)
        assert contexts_written(older) == []
    [warning] = report.warnings
    assert "emit.ai_context needs the aspect aiContext of schemaField" in str(warning)


def test_of_two_pipelines_the_first_one_writes(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=EMIT)
    gms.writes.clear()
    quick([CARRIER], emit=EMIT, pipeline="other")
    assert contexts_written(gms) == []


def test_the_preset_for_agents_writes_what_the_server_has(gms: Gms, lake: Path) -> None:
    Runs(gms, lake)([CARRIER], emit={"agents": True})
    assert contexts_written(gms) == sorted([CARRIER_URN, AIRLINE_URN])
    with Gms("1.6.0", without=[AI_CONTEXT]) as older:
        describe_folder(older, lake)
        report = Runs(older, lake)([CARRIER], emit={"agents": True})
        assert contexts_written(older) == []
    assert not report.warnings
