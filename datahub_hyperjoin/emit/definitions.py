"""Definitions of the structured properties and tags that describe joins."""

from collections.abc import Iterator
from dataclasses import dataclass

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    ChangeTypeClass,
    PropertyCardinalityClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertySettingsClass,
    TagPropertiesClass,
)
from datahub.metadata.urns import TagUrn

from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.relationship_aspect import BANDS
from datahub_hyperjoin.urns import (
    ACCEPTED,
    BEST_JOIN_SCORE,
    CONFIRMED_JOINS,
    DELETED_JOINS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    REJECTED,
    REJECTED_JOINS,
    SUGGESTED_JOINS,
    band_urn,
    property_urn,
    role_urn,
)


@dataclass(frozen=True)
class _Property:
    name: str
    title: str
    description: str
    value_type: str
    entity: str
    settings: StructuredPropertySettingsClass
    multiple: bool = True


_PROPERTIES = (
    _Property(
        JOINABLE_WITH,
        "Joinable with",
        "Columns that can be joined with this column, best first.",
        "urn",
        "schemaField",
        StructuredPropertySettingsClass(),
    ),
    _Property(
        JOIN_SUGGESTIONS,
        "Join suggestions",
        "Columns that can be joined with this column, best first, each with its joinability "
        "from 0 to 1 and its role: this column refers to one that is `referenced`, one that "
        "`refers here` refers to this column, and columns with the `same key` refer to one key.",
        "string",
        "schemaField",
        StructuredPropertySettingsClass(showInColumnsTable=True),
    ),
    _Property(
        BEST_JOIN_SCORE,
        "Best join score",
        "Joinability of this column's best suggestion, from 0 to 1.",
        "number",
        "schemaField",
        StructuredPropertySettingsClass(showInSearchFilters=True),
        multiple=False,
    ),
    _Property(
        CONFIRMED_JOINS,
        "Confirmed joins",
        "Columns that this column joins with, as confirmed by people. Edit this property freely: "
        "HyperJoin only reads it. A confirmed join is always suggested, whatever its score, and "
        "later runs learn from it. It is enough to list a join at one of its two columns.",
        "urn",
        "schemaField",
        StructuredPropertySettingsClass(),
    ),
    _Property(
        REJECTED_JOINS,
        "Rejected joins",
        "Columns that this column does not join with, as decided by people. Edit this property "
        "freely: HyperJoin only reads it. A rejected join is never suggested again, and later runs "
        "learn from it. It is enough to list a join at one of its two columns.",
        "urn",
        "schemaField",
        StructuredPropertySettingsClass(),
    ),
    _Property(
        DELETED_JOINS,
        "Deleted joins",
        "Columns whose suggested join with this column people deleted, hid or rejected. HyperJoin "
        "writes this property, so that it never suggests them again. To undo a deletion, list the "
        "column under Confirmed joins.",
        "urn",
        "schemaField",
        StructuredPropertySettingsClass(),
    ),
    _Property(
        SUGGESTED_JOINS,
        "Suggested joins",
        "The ten best joins of this dataset's columns, references first.",
        "rich_text",
        "dataset",
        StructuredPropertySettingsClass(showInAssetSummary=True, hideInAssetSummaryWhenEmpty=True),
    ),
)

_ROLES = {
    Role.REFERENCE: "Many to one: the source of this join refers to unique values of the "
    "destination.",
    Role.ONE_TO_ONE: "Both sides of this join are unique, and the source refers to the "
    "destination.",
    Role.SIBLING: "Both sides of this join refer to the same key of another table. Joining them "
    "usually multiplies rows.",
    Role.SAME_DOMAIN: "Both sides of this join hold values of one kind, but neither is a key of "
    "the other. Joining them may multiply rows.",
}
"""Descriptions of the tags that name roles."""

_DECISIONS = {
    ACCEPTED: "A person accepted this join. HyperJoin always suggests it, whatever its score, and "
    "learns from it.",
    REJECTED: "A person rejected this join. HyperJoin never suggests it again, and learns from it.",
}
"""Descriptions of the tags by which people decide."""


def _define(namespace: str, definition: _Property) -> StructuredPropertyDefinitionClass:
    multiple, single = PropertyCardinalityClass.MULTIPLE, PropertyCardinalityClass.SINGLE
    columns = {"allowedTypes": ["urn:li:entityType:datahub.schemaField"]}
    return StructuredPropertyDefinitionClass(
        qualifiedName=f"{namespace}.{definition.name}",
        displayName=definition.title,
        description=definition.description,
        valueType=f"urn:li:dataType:datahub.{definition.value_type}",
        typeQualifier=columns if definition.value_type == "urn" else None,
        cardinality=multiple if definition.multiple else single,
        entityTypes=[f"urn:li:entityType:datahub.{definition.entity}"],
    )


def _create(
    urn: str,
    aspect: StructuredPropertyDefinitionClass
    | StructuredPropertySettingsClass
    | TagPropertiesClass,
) -> MetadataChangeProposalWrapper:
    return MetadataChangeProposalWrapper(
        entityUrn=urn,
        aspect=aspect,
        changeType=ChangeTypeClass.CREATE,
        # The server drops the write without an error if the aspect exists.
        headers={"If-None-Match": "*"},
    )


def define_properties(namespace: str) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield proposals to create the structured properties that describe joins.

    A property that exists is kept as it is, since a person may have changed it.

    Args:
        namespace: Prefix of the properties' names.

    Yields:
        The definition and the display settings of each property.
    """
    for definition in _PROPERTIES:
        for aspect in (_define(namespace, definition), definition.settings):
            yield _create(property_urn(namespace, definition.name), aspect)


def define_tags() -> Iterator[MetadataChangeProposalWrapper]:
    """Yield proposals to create the tags that relationships can have.

    A tag that exists is kept as it is.

    Yields:
        A tag for each confidence band and each role, set by this source, and for each decision, set
        by people.
    """
    low, high = BANDS["medium"], BANDS["high"]
    bands = f"high from {high:.2f}, medium from {low:.2f}, low below"
    for band in BANDS:
        aspect = TagPropertiesClass(
            name=f"join:suggested-{band}",
            description=f"A join suggested from the data, with {band} joinability: {bands}.",
        )
        yield _create(band_urn(band), aspect)
    roles = {role_urn(role): meaning for role, meaning in _ROLES.items()}
    for tag, meaning in (roles | _DECISIONS).items():
        yield _create(
            tag, TagPropertiesClass(name=TagUrn.from_string(tag).name, description=meaning)
        )
