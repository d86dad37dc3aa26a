"""The entity types and aspects that the server supports, and their validation."""

from collections.abc import Collection, Iterator
from typing import Any

from avro.errors import AvroTypeException
from datahub._codegen.aspect import _Aspect
from datahub.emitter.aspect import TIMESERIES_ASPECT_MAP
from datahub.emitter.serialization_helper import post_json_transform, pre_json_transform
from datahub.metadata.schema_classes import ASPECT_NAME_MAP, KEY_ASPECTS
from datahub.metadata.urns import Urn
from datahub.utilities.urns.error import InvalidUrnError
from datahub.utilities.urns.urn_iter import list_urns

from gms.refusals import Invalid, Malformed

Json = dict[str, Any]

# A server without the first does not have the second either.
_TOGETHER = {"structuredProperty": ("structuredProperties",)}


class Registry:
    """A server's model: the installed client's model without the parts that the server lacks."""

    def __init__(self, without: Collection[str]) -> None:
        """Remove some entity types and aspects."""
        missing = {*without, *(gone for name in without for gone in _TOGETHER.get(name, ()))}
        unknown = missing - KEY_ASPECTS.keys() - ASPECT_NAME_MAP.keys()
        assert not unknown, f"no such entity type or aspect: {sorted(unknown)}"
        self._aspects = {
            entity: {name for name in _aspects_of(entity) if name not in missing}
            for entity in KEY_ASPECTS
            if entity not in missing
        }

    def entities(self) -> list[str]:
        """The entity types, in order."""
        return sorted(self._aspects)

    def knows(self, entity: str) -> bool:
        """Whether an entity type is in the registry."""
        return entity in self._aspects

    def expect(self, urn: str) -> str:
        """Return the entity type of a URN, which must be well formed and of a known type."""
        entity = self._parse_urn(urn).entity_type
        if entity not in self._aspects:
            message = f"Failed to find entity with name {entity} in EntityRegistry"
            raise Invalid(message)
        return entity

    def expect_readable(self, entity: str) -> None:
        """Reject an unknown entity type."""
        if entity not in self._aspects:
            message = f"Failed to find entity with name {entity} in EntityRegistry"
            raise Malformed(message)

    def expect_aspect(self, entity: str, aspect: str) -> None:
        """Reject an aspect that entities of a type do not have."""
        if aspect not in self._aspects[entity]:
            message = f"Unknown aspect {aspect} for entity {entity}"
            raise Invalid(message)

    def aspects(self, entity: str) -> Collection[str]:
        """Return the aspects of an entity type, including its key."""
        return self._aspects[entity]

    def check(self, aspect: str, value: Json) -> Json:
        """Return an aspect as it is stored, with default values.

        Raises:
            Invalid: The aspect does not fit its schema.
        """
        try:
            typed = ASPECT_NAME_MAP[aspect].from_obj(post_json_transform(value))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            message = f"Failed to validate record with class {aspect}: {error}"
            raise Invalid(message) from error
        kept = self.check_typed(typed)
        for path in _lost(value, kept, aspect):
            message = f"{path} :: unrecognized field found but not allowed"
            raise Invalid(message)
        return kept

    def check_typed(self, aspect: _Aspect) -> Json:
        """Check an aspect that is already an object."""
        try:
            kept = pre_json_transform(aspect.to_obj())
        except AvroTypeException as error:
            name = aspect.get_aspect_name()
            message = f"Failed to validate record with class {name}: {aspect}"
            raise Invalid(message) from error
        for urn in list_urns(aspect):
            self._parse_urn(urn)
        return kept

    def key(self, urn: str) -> tuple[str, Json]:
        """Return the name and the value of the key aspect, which has the parts of the URN."""
        parsed = self._parse_urn(urn)
        key = parsed.to_key_aspect()  # type: ignore[attr-defined]  # every urn class has it but the root
        return key.get_aspect_name(), pre_json_transform(key.to_obj())

    def specifications(self) -> list[Json]:
        """Return the registry as the server publishes it."""
        return [
            {
                "name": entity,
                "keyAspectName": KEY_ASPECTS[entity].get_aspect_name(),
                "aspectSpecs": [
                    {"aspectAnnotation": {"name": name, "schemaVersion": 1}}
                    for name in sorted(self._aspects[entity])
                ],
            }
            for entity in self.entities()
        ]

    @staticmethod
    def _parse_urn(urn: str) -> Urn:
        try:
            return Urn.from_string(urn)
        except InvalidUrnError as error:
            message = f"Invalid urn {urn}: {error}"
            raise Malformed(message) from error


def is_series(aspect: str) -> bool:
    """Whether an aspect is a time series."""
    return aspect in TIMESERIES_ASPECT_MAP


def java_name(aspect: str) -> str:
    """Return the Java name of an aspect, which responses contain.

    >>> java_name("status")
    'com.linkedin.common.Status'
    """
    return ASPECT_NAME_MAP[aspect].RECORD_SCHEMA.fullname.replace(".pegasus2avro", "")


def _aspects_of(entity: str) -> set[str]:
    key = KEY_ASPECTS[entity]
    return {key.get_aspect_name(), *key.get_aspect_info()["entityAspects"]}


def _lost(given: Any, kept: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(given, dict) and isinstance(kept, dict):
        for name, value in given.items():
            if value is not None and name not in kept:
                yield f"{path}/{name}"
            else:
                yield from _lost(value, kept.get(name), f"{path}/{name}")
    elif isinstance(given, list) and isinstance(kept, list):
        for one, other in zip(given, kept, strict=True):
            yield from _lost(one, other, path)
