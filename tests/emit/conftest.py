"""Make joins, and turn the metadata written for them into plain values."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import MetadataChangeProposalClass

from datahub_hyperjoin.joins import Cardinality, Evidence, Join
from datahub_hyperjoin.tables import ColumnId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]


@pytest.fixture
def evidence() -> Evidence:
    """Return evidence with a different value for each number, so that a test notices a swap."""
    return Evidence(
        shared=16,
        left_containment=1.0,
        right_containment=0.8,
        cardinality=Cardinality.ONE_MANY,
        left_fan_out=21048.5,
        right_fan_out=1.0,
        rows=336_776,
    )


@pytest.fixture
def make_join(evidence: Evidence) -> MakeJoin:
    def make(one: ColumnId, other: ColumnId, joinability: float) -> Join:
        left, right = sorted((one, other))
        return Join(left=left, right=right, joinability=joinability, evidence=evidence)

    return make


@pytest.fixture
def describe() -> Describe:
    def read(unit: MetadataWorkUnit) -> dict[str, Any]:
        proposal = unit.metadata
        if isinstance(proposal, MetadataChangeProposalWrapper):
            proposal = proposal.make_mcp()
        assert isinstance(proposal, MetadataChangeProposalClass)
        assert proposal.aspect
        return {
            "urn": proposal.entityUrn,
            "entity": proposal.entityType,
            "change": proposal.changeType,
            "aspect": proposal.aspectName,
            "value": json.loads(proposal.aspect.value),
            "headers": proposal.headers,
        }

    return read
