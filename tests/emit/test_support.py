from dataclasses import replace

import pytest
from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.emit.config import EmitConfig, JoinChoice, LineageForm
from datahub_hyperjoin.emit.layers import find_unsupported
from datahub_hyperjoin.metadata.urns import AI_CONTEXT, SEMANTIC_MODEL
from gms import Gms
from gms.double import Version

VERSIONS: tuple[Version, ...] = ("1.5.0", "1.6.0", "1.7.0")

ALL = EmitConfig(queries=True, documents=True, lineage=LineageForm.DASHED)
NOTHING = EmitConfig(relationships=False, properties=False)
ENTITIES = {
    "erModelRelationship": {"relationships": "the entity type erModelRelationship"},
    "structuredProperty": {
        "properties": "the entity type structuredProperty, the aspect structuredProperties of "
        "schemaField, the aspect structuredProperties of dataset"
    },
    "query": {"queries": "the entity type query"},
    "document": {"documents": "the entity type document"},
}
ASPECTS = {
    "upstreamLineage": {"lineage": "the aspect upstreamLineage of dataset"},
    "documentSettings": {"documents": "the aspect documentSettings of document"},
    "querySubjects": {"queries": "the aspect querySubjects of query"},
}


@pytest.fixture(params=["as installed", "older"])
def tells(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Set up an older or a current client, and return whether it can read the server's registry.

    The registry came with release 1.7.
    """
    if request.param == "older":
        monkeypatch.delattr(DataHubGraph, "get_entity_aspect_specs", raising=False)
    return hasattr(DataHubGraph, "get_entity_aspect_specs")


@pytest.mark.usefixtures("tells")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_whole_server_takes_everything(version: Version) -> None:
    with Gms(version) as gms:
        assert find_unsupported(gms.graph(), ALL) == {}
        assert gms.writes == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("entity", ENTITIES)
def test_a_missing_entity_type_is_named(*, tells: bool, version: Version, entity: str) -> None:
    with Gms(version, without=[entity]) as gms:
        found = find_unsupported(gms.graph(), ALL)
    assert found == ENTITIES[entity] if tells else found.keys() == ENTITIES[entity].keys()
    assert all(f"the entity type {entity}" in missing for missing in found.values())


@pytest.mark.parametrize("aspect", ASPECTS)
def test_a_missing_aspect_is_named_where_the_server_tells(*, tells: bool, aspect: str) -> None:
    with Gms(without=[aspect]) as gms:
        found = find_unsupported(gms.graph(), ALL)
    assert found == (ASPECTS[aspect] if tells else {})


@pytest.mark.usefixtures("tells")
def test_only_layers_that_are_written_are_asked_about() -> None:
    with Gms(without=["query", "erModelRelationship"]) as gms:
        config = EmitConfig(relationships=False)
        assert find_unsupported(gms.graph(), config) == {}


@pytest.mark.usefixtures("tells")
@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_server_that_does_not_say_is_taken_to_know_everything(status: int) -> None:
    with Gms(without=["query"]) as gms:
        gms.fail("specifications|batchGet", status=status, times=99)
        assert find_unsupported(gms.graph(), ALL) == {}


def test_a_registry_that_cannot_be_read_is_replaced_by_questions() -> None:
    with Gms(without=["query"]) as gms:
        gms.fail("specifications", status=404, times=99)
        assert find_unsupported(gms.graph(), ALL) == {"queries": "the entity type query"}


@pytest.mark.parametrize(("version", "client", "missing"), [
    ("1.7.0", True, False), ("1.6.0", True, True), ("1.7.0", False, True),
])  # fmt: skip
def test_without_a_registry_versions_tell_what_came_with_1_7(
    monkeypatch: pytest.MonkeyPatch, version: Version, *, client: bool, missing: bool
) -> None:
    known = {AI_CONTEXT: object(), SEMANTIC_MODEL: object()} if client else {}
    monkeypatch.setattr("datahub_hyperjoin.catalog.versions.ASPECT_NAME_MAP", known)
    config = replace(NOTHING, ai_context=True, semantic_models=JoinChoice.ACCEPTED)
    with Gms(version) as gms:
        gms.fail("specifications", status=404, times=99)
        found = find_unsupported(gms.graph(), config)
    needed = {
        "ai_context": "the aspect aiContext of schemaField",
        "semantic_models": "the aspect semanticModelInfo of semanticModel",
    }
    assert found == (needed if missing else {})
