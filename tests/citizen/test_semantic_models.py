"""Test semantic models over several runs: those of others are read, and ours follow."""

from collections.abc import Callable
from typing import Any

import pytest
from datahub.metadata import schema_classes
from datahub.metadata.schema_classes import StatusClass

from datahub_hyperjoin.metadata.urns import dataset_urn, semantic_model_urn
from gms import Gms
from lakes.lake import table

# Clients before release 1.7 have no class for the aspect.
Info: Any = getattr(schema_classes, "SemanticModelInfoClass", None)
pytestmark = pytest.mark.skipif(Info is None, reason="the client is older than the aspect")

Ingest = Callable[..., str]
EMIT = {"semantic_models": "declared"}
THEIRS = "urn:li:semanticModel:(urn:li:dataPlatform:cube,air,traffic)"
OURS = semantic_model_urn(table("flights.csv"))


def test_joins_that_a_model_declares_are_in_ours_as_long_as_it_does(
    gms: Gms, ingest: Ingest
) -> None:
    flies = schema_classes.SemanticModelRelationshipClass(
        name="flies_for",
        from_="flights.csv",
        fromColumns=["carrier"],
        to="airlines.csv",
        toColumns=["carrier"],
        cardinality="N_ONE",
    )
    tables = [dataset_urn(table(name)) for name in ("flights.csv", "airlines.csv")]
    gms.put(THEIRS, Info(name="Traffic", datasets=tables, relationships=[flies]), pipeline="cube")
    ingest(emit=EMIT)
    ours: Any = gms.get(OURS, Info)
    assert [(each.from_, each.to) for each in ours.relationships] == [("flights", "airlines")]
    gms.writes.clear()
    ingest(emit=EMIT)
    assert {write.entity for write in gms.writes}.isdisjoint({"semanticModel", "dataset"})
    gms.put(THEIRS, StatusClass(removed=True), pipeline="cube")
    ingest(emit=EMIT)
    assert gms.get(OURS, StatusClass) == StatusClass(removed=True)
