"""Define which entity types and aspects the server supports, and check aspects."""

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
    """The entity types and aspects that a server supports.

    They are those of the installed client, without the ones that the server lacks.
    """

    def __init__(self, without: Collection[str]) -> None:
        """Remove the entity types and aspects that the server lacks."""
        missing = {*without, *(gone for name in without for gone in _TOGETHER.get(name, ()))}
        unknown = missing - KEY_ASPECTS.keys() - ASPECT_NAME_MAP.keys()
        assert not unknown, f"no such entity type or aspect: {sorted(unknown)}"
        self._aspects = {
            entity: {name for name in _aspects_of(entity) if name not in missing}
            for entity in KEY_ASPECTS
            if entity not in missing
        }

    def entities(self) -> list[str]:
        """Names of all supported entity types, sorted."""
        return sorted(self._aspects)

    def knows(self, entity: str) -> bool:
        """Return whether the server supports an entity type."""
        return entity in self._aspects

    def expect(self, urn: str) -> str:
        """Return the entity type of a URN, or raise an error if the URN is invalid."""
        entity = self._parse_urn(urn).entity_type
        if entity not in self._aspects:
            message = f"Failed to find entity with name {entity} in EntityRegistry"
            raise Invalid(message)
        return entity

    def expect_readable(self, entity: str) -> None:
        """Reject requests for an unknown entity type."""
        if entity not in self._aspects:
            message = f"Failed to find entity with name {entity} in EntityRegistry"
            raise Malformed(message)

    def expect_aspect(self, entity: str, aspect: str) -> None:
        """Reject an aspect that the entity type does not have."""
        if aspect not in self._aspects[entity]:
            message = f"Unknown aspect {aspect} for entity {entity}"
            raise Invalid(message)

    def aspects(self, entity: str) -> Collection[str]:
        """Return the aspects of an entity type, including its key."""
        return self._aspects[entity]

    def check(self, aspect: str, value: Json) -> Json:
        """Check an aspect, and return it as the server stores it.

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
        """Check an aspect object, and return it as the server stores it."""
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
        """Return the name and the content of the key aspect, which holds the parts of the URN."""
        parsed = self._parse_urn(urn)
        key = parsed.to_key_aspect()  # type: ignore[attr-defined]  # every urn class has it but the root
        return key.get_aspect_name(), pre_json_transform(key.to_obj())

    def specifications(self) -> list[Json]:
        """Return the registry in the form in which the server publishes it."""
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
    """Return whether an aspect is a time series."""
    return aspect in TIMESERIES_ASPECT_MAP


def java_name(aspect: str) -> str:
    """Return the Java name of an aspect, as it occurs in responses.

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
