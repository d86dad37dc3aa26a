"""Check values of structured properties as the server does before it assigns them."""

import math
from collections.abc import Sequence
from typing import Any

from datahub.metadata.urns import Urn
from datahub.utilities.urns.error import InvalidUrnError

from gms.refusals import Invalid
from gms.store import Store

Json = dict[str, Any]

_MOST_BYTES = 32766
_PLAIN = ("string", "rich_text", "date")


def check_assignments(store: Store, urn: str, assignments: Sequence[Json]) -> list[str]:
    """Check assigned values against the stored definitions of their properties.

    Args:
        store: The store with the definitions.
        urn: The entity that receives the values.
        assignments: Property URNs and values.

    Returns:
        The properties without a definition; the server drops their values.

    Raises:
        Invalid: A value is of the wrong type, there are too many, no property is defined, or one
            is soft-deleted.
    """
    missing = []
    for assignment in assignments:
        definition = store.value(assignment["propertyUrn"], "propertyDefinition")
        if store.value(assignment["propertyUrn"], "status").get("removed"):
            message = "Cannot apply a soft deleted Structured Property value"
            raise Invalid(message)
        if definition:
            _check(assignment, definition)
        else:
            missing.append(assignment["propertyUrn"])
    if missing and len(missing) == len(assignments):
        message = (
            f"Structured properties write rejected for {urn}: no valid property assignments remain "
            f"after removing values for non-existent properties: {missing}"
        )
        raise Invalid(message)
    return missing


def _check(assignment: Json, definition: Json) -> None:
    """Check one assignment against its definition.

    Entity types are not checked, because the server ignores them, too.
    """
    name, values = assignment["propertyUrn"], assignment["values"]
    if definition["cardinality"] == "SINGLE" and len(values) > 1:
        message = f"Property: {name} has cardinality 1, but multiple values were assigned: {values}"
        raise Invalid(message)
    for value in values:
        _check_value(name, value, definition)


def _check_value(name: str, value: Json, definition: Json) -> None:
    kind = definition["valueType"].removeprefix("urn:li:dataType:datahub.")
    text, fault = value.get("string"), None
    if kind == "number":
        fault = None if _is_number(value) else "should be a number"
    elif text is None:
        fault = "should be a string"
    elif len(text.encode()) > _MOST_BYTES:
        fault = f"is longer than {_MOST_BYTES} bytes"
    elif kind == "urn":
        fault = _fault_of_urn(text, (definition.get("typeQualifier") or {}).get("allowedTypes"))
    else:
        assert kind in _PLAIN, f"unknown type of value {kind}"
    if fault:
        message = f"Property: {name}, value: {value} {fault}"
        raise Invalid(message)


def _is_number(value: Json) -> bool:
    try:
        return math.isfinite(float(value["double"] if "double" in value else value["string"]))
    except (KeyError, ValueError):
        return False


def _fault_of_urn(text: str, allowed: Sequence[str] | None) -> str | None:
    try:
        entity = Urn.from_string(text).entity_type
    except InvalidUrnError:
        return "should be an urn"
    if allowed and f"urn:li:entityType:datahub.{entity}" not in allowed:
        return f"is not of any supported urn types: {allowed}"
    return None
