"""Make DataHub's events of changes, and deliver them without Kafka."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from datahub.emitter.serialization_helper import pre_json_transform
from datahub.metadata.schema_classes import (
    AuditStampClass,
    GenericAspectClass,
    MetadataChangeLogClass,
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
    SystemMetadataClass,
    _Aspect,
)
from datahub.utilities.urns.urn import guess_entity_type
from datahub_actions.event.event_envelope import EventEnvelope
from datahub_actions.event.event_registry import (
    METADATA_CHANGE_LOG_EVENT_V1_TYPE,
    MetadataChangeLogEvent,
)
from datahub_actions.pipeline.pipeline_context import PipelineContext
from datahub_actions.source.event_source import EventSource
from typing_extensions import Self

ANN = "urn:li:corpuser:ann"
TIME = 1_700_000_000_000


def changed(
    urn: str,
    after: _Aspect | None,
    before: _Aspect | None = None,
    *,
    name: str = "",
    change: str = "UPSERT",
    run: str | None = "no-run-id-provided",
) -> MetadataChangeLogClass:
    """Make the event that reports a changed aspect.

    Pass the `name` of the aspect if `after` and `before` are None.
    """
    known = after or before
    return MetadataChangeLogClass(
        entityType=guess_entity_type(urn),
        entityUrn=urn,
        changeType=change,
        aspectName=known.get_aspect_name() if known else name,
        aspect=_generic(after),
        previousAspectValue=_generic(before),
        systemMetadata=SystemMetadataClass(runId=run) if run is not None else None,
        created=AuditStampClass(time=TIME, actor=ANN),
    )


def properties(values: Mapping[str, Sequence[str]]) -> StructuredPropertiesClass:
    """Make structured properties from a mapping of their URNs to their values."""
    return StructuredPropertiesClass(
        [
            StructuredPropertyValueAssignmentClass(propertyUrn=urn, values=list(given))
            for urn, given in values.items()
        ]
    )


def write_events(file: Path, events: Iterable[MetadataChangeLogClass]) -> None:
    """Write events as lines of JSON, as DataHub's framework serializes them."""
    lines = [
        EventEnvelope(
            METADATA_CHANGE_LOG_EVENT_V1_TYPE, MetadataChangeLogEvent.from_class(event), {}
        ).as_json()
        for event in events
    ]
    file.write_text("\n".join(lines))


def _generic(aspect: _Aspect | None) -> GenericAspectClass | None:
    if aspect is None:
        return None
    value = json.dumps(pre_json_transform(aspect.to_obj())).encode()
    return GenericAspectClass(value=value, contentType="application/json")


class FiledEvents(EventSource):  # type: ignore[misc] # the framework has no types
    """An event source that delivers each line of a file, and then ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.acknowledged = 0

    @classmethod
    def create(cls, config_dict: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003
        return cls(Path(config_dict["file"]))

    def events(self) -> Iterable[EventEnvelope]:
        for line in self._file.read_text().splitlines():
            yield EventEnvelope.from_json(line)

    def ack(self, event: EventEnvelope, processed: bool = True) -> None:  # noqa: FBT001, FBT002 - the framework's signature
        self.acknowledged += 1

    def close(self) -> None:
        pass
