from collections.abc import Iterator

import pytest
from datahub.metadata.schema_classes import (
    StructuredPropertyDefinitionClass,
    StructuredPropertySettingsClass,
    TagPropertiesClass,
)

from datahub_hyperjoin.emit.errors import RefusedError
from datahub_hyperjoin.emit.layer import create_missing_definitions
from datahub_hyperjoin.emit.properties import define_properties
from datahub_hyperjoin.emit.relationships import define_tags
from datahub_hyperjoin.metadata.urns import ACCEPTED, CONFIRMED_JOINS, REJECTED_JOINS, property_urn
from gms import Gms

NAMESPACE = "io.datahub.hyperjoin"
CONFIRMED, REJECTED = (property_urn(NAMESPACE, name) for name in (CONFIRMED_JOINS, REJECTED_JOINS))


@pytest.fixture(params=["1.5.0", "1.6.0", "1.7.0"])
def gms(request: pytest.FixtureRequest) -> Iterator[Gms]:
    with Gms(request.param) as double:
        yield double


def write(gms: Gms) -> None:
    for proposals in (define_tags(), define_properties(NAMESPACE)):
        assert list(create_missing_definitions(proposals, gms.graph())) == []


def test_definitions_are_committed_at_once_and_once(gms: Gms) -> None:
    write(gms)
    assert len(gms.urns("tag")) == 10
    assert len(gms.urns("structuredProperty")) == 8
    before = len(gms.writes)
    write(gms)
    assert len(gms.writes) == before == 10 + 2 * 8


def test_what_a_person_changed_stays(gms: Gms) -> None:
    gms.put(ACCEPTED, TagPropertiesClass(name="yes", colorHex="#0f0"))
    gms.put(CONFIRMED, StructuredPropertySettingsClass(showInColumnsTable=True))
    write(gms)
    tag, settings = (
        gms.get(ACCEPTED, TagPropertiesClass),
        gms.get(CONFIRMED, StructuredPropertySettingsClass),
    )
    assert tag
    assert (tag.name, tag.colorHex) == ("yes", "#0f0")
    assert settings
    assert settings.showInColumnsTable
    assert gms.get(CONFIRMED, StructuredPropertyDefinitionClass)


@pytest.mark.parametrize("urn", [CONFIRMED, REJECTED])
def test_people_can_see_and_fill_their_properties_on_columns(gms: Gms, urn: str) -> None:
    write(gms)
    definition = gms.get(urn, StructuredPropertyDefinitionClass)
    settings = gms.get(urn, StructuredPropertySettingsClass)
    assert definition
    assert settings
    assert definition.valueType == "urn:li:dataType:datahub.urn"
    assert definition.cardinality == "MULTIPLE"
    assert definition.entityTypes == ["urn:li:entityType:datahub.schemaField"]
    assert definition.typeQualifier == {"allowedTypes": ["urn:li:entityType:datahub.schemaField"]}
    assert not settings.isHidden
    assert not settings.showInColumnsTable


def test_a_server_that_does_not_tell_what_it_has_keeps_it(gms: Gms) -> None:
    gms.put(ACCEPTED, TagPropertiesClass(name="yes"))
    gms.fail("batchGet", status=400, times=99)
    assert list(create_missing_definitions(define_tags(), gms.graph(openapi_ingestion=False))) == []
    tag = gms.get(ACCEPTED, TagPropertiesClass)
    assert tag
    assert tag.name == "yes"


def test_a_server_that_refuses_is_quoted(gms: Gms) -> None:
    gms.fail("POST /aspects|POST /openapi/v3/entity/tag$", status=401, times=99, message="Not you")
    with pytest.raises(RefusedError, match=r"-high: .*Not you\. Grant the owner of the sink"):
        list(create_missing_definitions(define_tags(), gms.graph()))
