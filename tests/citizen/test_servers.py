"""Test runs against several releases of the server, and against limited and failing servers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    StructuredPropertiesClass,
)

from datahub_hyperjoin.metadata.urns import column_urn
from gms import Gms
from gms.double import Version
from lakes.lake import column, describe_folder

Run = Callable[..., str]
LAYERS = {"relationships": True, "properties": True, "lineage": True, "agents": True}


def relationships(gms: Gms) -> set[str]:
    found = (
        gms.get(urn, ERModelRelationshipPropertiesClass) for urn in gms.urns("erModelRelationship")
    )
    return {one.name for one in found if one}


@pytest.mark.parametrize("version", ["1.5.0", "1.6.0", "1.7.0"])
def test_each_release_gets_every_layer_once(version: Version, run: Run, lake: Path) -> None:
    with Gms(version) as gms:
        describe_folder(gms, lake)
        output = run(gms, "--no-default-report", emit=LAYERS)
        assert "Layers not written" not in output
        assert gms.rejected == []
        assert "flights.csv.carrier = airlines.csv.carrier" in relationships(gms)
        assert gms.get(column_urn(column("airlines.csv.carrier")), StructuredPropertiesClass)
        assert gms.urns("query")
        assert gms.urns("document")
        before = len(gms.writes)
        run(gms, "--no-default-report", emit=LAYERS)
        assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("structuredProperty", "emit.properties needs"),
        ("erModelRelationship", "emit.relationships needs"),
        ("query", "emit.queries needs"),
        ("document", "emit.documents needs"),
    ],
)
def test_a_smaller_server_gets_the_other_layers_and_one_warning(
    missing: str, words: str, run: Run, lake: Path
) -> None:
    with Gms("1.7.0", without={missing}) as gms:
        describe_folder(gms, lake)
        output = run(gms, "--no-default-report", emit=LAYERS)
        report = output[output.index("Source (hyperjoin) report:") :]
        assert report.count("Layers not written") == 1
        assert words in report
        assert missing in report[report.index(words) :]
        assert gms.rejected == []
        written = {write.aspect for write in gms.writes}
        assert ("erModelRelationshipProperties" in written) is (missing != "erModelRelationship")
        assert ("structuredProperties" in written) is (missing != "structuredProperty")
        assert ("documentInfo" in written) is (missing != "document")
        assert "upstreamLineage" in written


def test_a_server_that_cannot_be_compared_with_gets_everything(run: Run, gms: Gms) -> None:
    run(gms, "--no-default-report")
    before = len(gms.writes)
    gms.fail("schemaField/batchGet", 403, times=99)
    output = run(gms, "--no-default-report")
    assert "Catalog not compared" in output
    assert {write.entity for write in gms.writes[before:]} >= {"schemaField"}


def test_a_server_that_does_not_answer_ends_the_run_and_loses_nothing(run: Run, gms: Gms) -> None:
    run(gms, "--no-default-report")
    before = len(gms.writes)
    gms.fail("entity/scroll|api/graphql", 403, times=99, message="no heap left")
    output = run(gms, "--no-default-report", fails=True)
    assert "no heap left" in output
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}


def test_what_a_server_did_not_take_is_no_deletion(run: Run, gms: Gms) -> None:
    gms.fail("ingestProposalBatch", 403)
    run(gms, "--no-default-report", fails=True)
    assert relationships(gms) == set()
    output = run(gms, "--no-default-report")
    assert "Writes lost" in output
    assert len(relationships(gms)) == 5


def test_what_people_deleted_is_named(run: Run, gms: Gms) -> None:
    run(gms, "--no-default-report")
    for urn in gms.urns("erModelRelationship"):
        found = gms.get(urn, ERModelRelationshipPropertiesClass)
        if found and "tailnum" in found.name:
            gms.delete(urn)
    output = run(gms, "--no-default-report")
    listed = output[output.index("'deleted_suggestions'") :]
    assert listed.index("flights.csv.tailnum = planes.csv.tailnum") < 100
