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
from datahub.metadata.urns import StructuredPropertyUrn, TagUrn

from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.metadata.confidence_bands import BANDS, UNVERIFIED
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    BEST_JOIN_SCORE,
    CONFIRMED_JOINS,
    DELETED_JOINS,
    JOIN_LINKS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    REJECTED,
    REJECTED_JOINS,
    SUGGESTED_JOINS,
    band_urn,
    flat_property_urn,
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
    flat: bool = False


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
        "Columns that can be joined with this column, best first: the column and its table, the "
        "joinability unless it is 1.00, how many of this column's values the other column has, and "
        "how the two relate. Many rows of this table refer to one of the other in `many to one`; "
        "columns with the `same key` refer to one key.",
        "string",
        "schemaField",
        StructuredPropertySettingsClass(showInColumnsTable=True),
    ),
    _Property(
        JOIN_LINKS,
        "Joins with",
        "The same suggestions as links, which open the other dataset at the other column.",
        "rich_text",
        "schemaField",
        StructuredPropertySettingsClass(),
        flat=True,
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


def _urn(namespace: str, definition: _Property) -> str:
    name = flat_property_urn if definition.flat else property_urn
    return name(namespace, definition.name)


def _define(namespace: str, definition: _Property) -> StructuredPropertyDefinitionClass:
    multiple, single = PropertyCardinalityClass.MULTIPLE, PropertyCardinalityClass.SINGLE
    columns = {"allowedTypes": ["urn:li:entityType:datahub.schemaField"]}
    return StructuredPropertyDefinitionClass(
        qualifiedName=StructuredPropertyUrn.from_string(_urn(namespace, definition)).id,
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
    """Yield the metadata that creates the structured properties for joins.

    A property that exists is kept as it is, since a person may have changed it.
    """
    for definition in _PROPERTIES:
        for aspect in (_define(namespace, definition), definition.settings):
            yield _create(_urn(namespace, definition), aspect)


def define_tags() -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the metadata that creates the tags for relationships.

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
    aspect = TagPropertiesClass(
        name=f"join:suggested-{UNVERIFIED}",
        description="A join suggested by names and the catalog, since no row of one of the tables "
        "was read: it is not verified on data, whatever its joinability.",
    )
    yield _create(band_urn(UNVERIFIED), aspect)
    roles = {role_urn(role): meaning for role, meaning in _ROLES.items()}
    for tag, meaning in (roles | _DECISIONS).items():
        yield _create(
            tag, TagPropertiesClass(name=TagUrn.from_string(tag).name, description=meaning)
        )
