"""Test the action in DataHub's actions framework, against a test double of DataHub's server."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.run.pipeline import Pipeline as Ingestion
from datahub.metadata.schema_classes import (
    GlobalTagsClass,
    SchemaMetadataClass,
    StructuredPropertiesClass,
)
from datahub_actions.action.action_registry import action_registry
from datahub_actions.pipeline.pipeline import Pipeline

from datahub_hyperjoin.action.plugin import HyperJoinAction
from datahub_hyperjoin.graphql import reject
from datahub_hyperjoin.metadata.urns import (
    JOINABLE_WITH,
    REJECTED_JOINS,
    column_urn,
    dataset_urn,
    property_urn,
)
from gms import Gms
from lakes.lake import column, describe_folder, table, write_flights
from lakes.quick_runs import CARRIER, PLANE, shown, urn_of
from services.events import ANN, changed, write_events

NAMESPACE = "io.datahub.hyperjoin"
FLIGHT = column_urn(column("flights.csv.carrier"))
AIRLINE = column_urn(column("airlines.csv.carrier"))
UPSERT = """mutation($urn: String!, $property: String!, $values: [PropertyValueInput!]!) {
  upsertStructuredProperties(input: {assetUrn: $urn, structuredPropertyInputParams:
    [{structuredPropertyUrn: $property, values: $values}]}) { properties { values { __typename } } }
}"""


def listed(gms: Gms, urn: str, name: str) -> set[object]:
    own = gms.get(urn, StructuredPropertiesClass)
    wanted = property_urn(NAMESPACE, name)
    found = own.properties if own else []
    return {value for one in found if one.propertyUrn == wanted for value in one.values}


class World:
    """A lake, its catalog and a recipe that ran once."""

    def __init__(self, gms: Gms, folder: Path) -> None:
        self.gms, self.lake, self.file = gms, folder / "lake", folder / "events.jsonl"
        write_flights(self.lake)
        self.late = (self.lake / "planes.csv").read_bytes()
        (self.lake / "planes.csv").unlink()
        describe_folder(gms, self.lake)
        self.recipe = folder / "recipe.json"
        settings = {
            "catalog": {"folder": str(self.lake)},
            "profile": {"store": str(folder / "store")},
            "stateful_ingestion": {"enabled": True, "fail_safe_threshold": 100},
        }
        recipe = {
            "pipeline_name": "joins",
            "source": {"type": "hyperjoin", "config": settings},
            "sink": {"type": "datahub-rest", "config": {"server": gms.url}},
        }
        self.recipe.write_text(json.dumps(recipe))
        first = Ingestion.create(recipe)
        first.run()
        first.raise_from_status()

    def add_planes(self) -> Any:  # noqa: ANN401 - an event
        (self.lake / "planes.csv").write_bytes(self.late)
        describe_folder(self.gms, self.lake)
        urn = dataset_urn(table("planes.csv"))
        return changed(urn, self.gms.get(urn, SchemaMetadataClass), run="connector")

    def remove(self, urn: str, partner: str) -> Any:  # noqa: ANN401 - an event
        """Remove a suggestion from a column as DataHub's pages do."""
        before = self.gms.get(urn, StructuredPropertiesClass)
        left = [{"stringValue": each} for each in listed(self.gms, urn, JOINABLE_WITH) - {partner}]
        joinable = property_urn(NAMESPACE, JOINABLE_WITH)
        self.gms.graphql(UPSERT, urn=urn, property=joinable, values=left)
        return changed(urn, self.gms.get(urn, StructuredPropertiesClass), before)

    def act(self, *events: Any) -> None:  # noqa: ANN401 - as made above
        """Run the framework's pipeline until it has processed all events."""
        write_events(self.file, events)
        pipeline = Pipeline.create(
            {
                "name": "hyperjoin",
                "source": {
                    "type": "services.events.FiledEvents",
                    "config": {"file": str(self.file)},
                },
                "action": {
                    "type": "hyperjoin",
                    "config": {"recipe": str(self.recipe), "wait_seconds": 60},
                },
                "datahub": {"server": self.gms.url},
                "options": {"failed_events_dir": str(self.file.parent / "failed")},
            }
        )
        pipeline.run()
        pipeline.close()
        assert pipeline.source.acknowledged == len(events)


@pytest.fixture
def world(tmp_path: Path, without_spark: None) -> Any:  # noqa: ANN401, ARG001 - yields
    with Gms() as gms:
        yield World(gms, tmp_path)


def test_the_framework_finds_the_action() -> None:
    assert action_registry.get("hyperjoin") is HyperJoinAction


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_removed_suggestion_and_a_new_table_share_a_run(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    gms = world.gms
    assert CARRIER in shown(gms)
    assert PLANE not in shown(gms)
    assert FLIGHT in listed(gms, AIRLINE, JOINABLE_WITH)
    caplog.set_level(logging.INFO, "datahub_hyperjoin.action")
    world.act(world.remove(FLIGHT, AIRLINE), world.add_planes())
    assert CARRIER not in shown(gms)
    assert PLANE in shown(gms)
    assert listed(gms, FLIGHT, REJECTED_JOINS) == {AIRLINE}
    assert FLIGHT not in listed(gms, AIRLINE, JOINABLE_WITH)
    (line,) = [it for it in caplog.messages if it.startswith("The joins were updated")]
    assert line.endswith("; 1 tables were read again, 4 were not")
    own = gms.get(FLIGHT, StructuredPropertiesClass)
    assert own is not None
    (rejected,) = [it for it in own.properties if it.propertyUrn.endswith(REJECTED_JOINS)]
    assert rejected.lastModified is not None
    assert rejected.lastModified.actor == ANN


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_repeated_and_own_events_write_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    event = world.remove(FLIGHT, AIRLINE)
    world.act(event)
    written = len(world.gms.writes)
    own = changed(FLIGHT, world.gms.get(FLIGHT, StructuredPropertiesClass), run="hyperjoin-action")
    caplog.set_level(logging.INFO, "datahub_hyperjoin.action")
    caplog.clear()
    world.act(event, own)
    assert len(world.gms.writes) == written
    assert [it for it in caplog.messages if "change" in it or "updated" in it] == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_rejection_by_our_mutations_takes_the_suggestion_from_both_columns(world: World) -> None:
    urn = urn_of(CARRIER)
    before = world.gms.get(urn, GlobalTagsClass)
    reject(world.gms.graph(), urn)
    world.act(changed(urn, world.gms.get(urn, GlobalTagsClass), before))
    assert CARRIER not in shown(world.gms)
    assert AIRLINE not in listed(world.gms, FLIGHT, JOINABLE_WITH)
    assert FLIGHT not in listed(world.gms, AIRLINE, JOINABLE_WITH)


def test_a_malformed_event_is_a_warning_and_the_next_is_heard(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    event = world.remove(FLIGHT, AIRLINE)
    broken = changed("urn:li:dataset:nonsense", None, name="schemaMetadata")
    caplog.set_level(logging.WARNING, "datahub_hyperjoin.action")
    world.act(broken, event)
    (line,) = [it for it in caplog.messages if it.startswith("An event was skipped")]
    assert "Check that the action and the server have the same DataHub release" in line
    assert listed(world.gms, FLIGHT, REJECTED_JOINS) == {AIRLINE}
