"""Set up a server with a catalog, a client of it, and schemas of datasets."""

from collections.abc import Callable, Iterator

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    OtherSchemaClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    SchemaMetadataClass,
    StringTypeClass,
)

from gms import Gms

Describe = Callable[..., SchemaMetadataClass]
Warnings = list[tuple[str, str, str]]
Warn = Callable[[str, str, str], None]


@pytest.fixture
def warnings() -> Warnings:
    """Return an empty list, to which tests add warnings."""
    return []


@pytest.fixture
def warn(warnings: Warnings) -> Warn:
    return lambda *words: warnings.append(words)


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as server:
        yield server


@pytest.fixture
def graph(gms: Gms) -> DataHubGraph:
    """Return a client that does not retry failed requests."""
    return gms.graph(retry_max_times=0)


@pytest.fixture
def describe() -> Describe:
    """Return a function that builds a schema with given columns and attributes."""

    def make(*columns: str | SchemaFieldClass, **rest: object) -> SchemaMetadataClass:
        fields = [_field(column) if isinstance(column, str) else column for column in columns]
        made = SchemaMetadataClass(
            schemaName="",
            platform="urn:li:dataPlatform:postgres",
            version=0,
            hash="",
            platformSchema=OtherSchemaClass(rawSchema=""),
            fields=fields,
        )
        for name, value in rest.items():
            setattr(made, name, value)
        return made

    return make


def _field(path: str) -> SchemaFieldClass:
    string = StringTypeClass()  # type: ignore[no-untyped-call]  # the client annotates nothing here
    kind = SchemaFieldDataTypeClass(type=string)
    return SchemaFieldClass(fieldPath=path, type=kind, nativeDataType="text")
