"""Parse the joins in GraphQL responses."""

from collections.abc import Iterable, Iterator
from typing import Any

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.operations import parsing
from datahub_hyperjoin.joins import Cardinality, Role, Verdict
from datahub_hyperjoin.metadata.confidence_bands import BAND_NAMES
from datahub_hyperjoin.metadata.role_context import RoleContext
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    REJECTED,
    band_urn,
    plain_path,
    role_urn,
    table_id,
)
from datahub_hyperjoin.tables import ColumnId

_BANDS = {band_urn(band): band for band in BAND_NAMES}
_ROLES = {role_urn(role): role for role in Role}
_VERDICTS = {REJECTED: Verdict.REJECTED, ACCEPTED: Verdict.ACCEPTED}


def read_joins(entities: Iterable[dict[str, Any]]) -> Iterator[CatalogJoin]:
    """Parse the joins in the entities of a search result.

    Args:
        entities: The fragment `join` of each; empty for entities that the user may not see.
    """
    for entity in entities:
        join = read_join(entity)
        if join:
            yield join


def read_join(entity: dict[str, Any] | None) -> CatalogJoin | None:
    """Parse one join from an entity of a GraphQL response.

    Args:
        entity: The fragment `join`; None if the server does not know the URN.

    Returns:
        None for an entity that is not a relationship, or that names no columns.
    """
    with parsing("join"):
        return _join(entity)


def _join(entity: dict[str, Any] | None) -> CatalogJoin | None:
    properties = (entity or {}).get("properties")
    if not entity or not properties:
        return None
    try:
        pairs = _pairs(properties)
    except InvalidUrnError:
        return None
    if not pairs:
        return None
    band, joinability = _score(entity)
    role, context = _role(entity)
    edited = entity.get("editableProperties") or {}
    return CatalogJoin(
        urn=entity["urn"],
        name=properties["name"],
        pairs=pairs,
        cardinality=Cardinality(properties["cardinality"]),
        joinability=joinability,
        band=band,
        role=role,
        # The source of a directed join is the referring table.
        referenced=pairs[0][1] if role and role.is_directed else None,
        declared=bool(context and context.declared),
        left_fan_out=context.source_fan_out if context else None,
        right_fan_out=context.destination_fan_out if context else None,
        left_containment=context.source_containment if context else None,
        right_containment=context.destination_containment if context else None,
        left_counts=context.source_counts if context else None,
        right_counts=context.destination_counts if context else None,
        compared_as=context.compared_as if context else "",
        via=context.crosswalk if context else None,
        verdicts=tuple(verdict for tag, verdict in _VERDICTS.items() if tag in _tags(entity)),
        removed=bool((entity.get("status") or {}).get("removed")),
        description=edited.get("description") or "",
        title=edited.get("name") or "",
        owners=_owners(entity),
    )


def _pairs(properties: dict[str, Any]) -> tuple[tuple[ColumnId, ColumnId], ...]:
    source = table_id(properties["source"]["urn"])
    destination = table_id(properties["destination"]["urn"])
    return tuple(
        (
            ColumnId(source, plain_path(mapping["sourceField"])),
            ColumnId(destination, plain_path(mapping["destinationField"])),
        )
        for mapping in properties["relationshipFieldMappings"] or ()
    )


def _tags(entity: dict[str, Any]) -> dict[str, str]:
    """Map the URN of each tag to the text that the entity stores with the tag."""
    assignments = (entity.get("tags") or {}).get("tags") or ()
    return {entry["tag"]["urn"]: entry.get("context") or "" for entry in assignments}


def _score(entity: dict[str, Any]) -> tuple[str, float | None]:
    """Read a join's confidence band and joinability from its tags.

    The context text of the tag holds the joinability.
    """
    for tag, context in _tags(entity).items():
        if tag in _BANDS:
            try:
                return _BANDS[tag], float(context)
            except ValueError:  # a person added the tag, without a score
                return _BANDS[tag], None
    return "", None


def _role(entity: dict[str, Any]) -> tuple[Role | None, RoleContext | None]:
    """Read a join's role, and facts such as its fan-out, from the tags.

    The facts are in the context text of the role's tag.
    """
    for tag, context in _tags(entity).items():
        if tag in _ROLES:
            return _ROLES[tag], RoleContext.parse(context)
    return None, None


def _owners(entity: dict[str, Any]) -> tuple[str, ...]:
    entries = (entity.get("ownership") or {}).get("owners") or ()
    return tuple(entry["owner"]["urn"] for entry in entries)
