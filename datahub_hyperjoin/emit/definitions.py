"""What DataHub must know before it is told a finding: structured properties and tags."""

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

from datahub_hyperjoin.relationship_aspect import BANDS
from datahub_hyperjoin.urns import (
    ACCEPTED,
    BEST_JOIN_SCORE,
    CONFIRMED_JOINS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    REJECTED,
    REJECTED_JOINS,
    SUGGESTED_JOINS,
    band_urn,
    property_urn,
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
        "Columns that join with this one, best first.",
        "urn",
        "schemaField",
        StructuredPropertySettingsClass(),
    ),
    _Property(
        JOIN_SUGGESTIONS,
        "Join suggestions",
        "Columns that join with this one and how joinable they are, from 0 to 1, best first.",
        "string",
        "schemaField",
        StructuredPropertySettingsClass(showInColumnsTable=True),
    ),
    _Property(
        BEST_JOIN_SCORE,
        "Best join score",
        "How joinable this column is with the best of its suggestions, from 0 to 1.",
        "number",
        "schemaField",
        StructuredPropertySettingsClass(showInSearchFilters=True),
        multiple=False,
    ),
    _Property(
        CONFIRMED_JOINS,
        "Confirmed joins",
        "Columns that people say this one joins with. It is people's to edit, and HyperJoin only "
        "reads it: such a join is always suggested, whatever its score, and later runs learn from "
        "it. One end of a join is enough.",
        "urn",
        "schemaField",
        StructuredPropertySettingsClass(),
    ),
    _Property(
        REJECTED_JOINS,
        "Rejected joins",
        "Columns that people say this one does not join with. It is people's to edit, and "
        "HyperJoin only reads it: such a join is never suggested again, and later runs learn from "
        "it. One end of a join is enough.",
        "urn",
        "schemaField",
        StructuredPropertySettingsClass(),
    ),
    _Property(
        SUGGESTED_JOINS,
        "Suggested joins",
        "The best joins of this dataset's columns, the ten best at most.",
        "rich_text",
        "dataset",
        StructuredPropertySettingsClass(showInAssetSummary=True, hideInAssetSummaryWhenEmpty=True),
    ),
)

_DECISIONS = {
    ACCEPTED: "A person says that this join is right: HyperJoin always suggests it, whatever its "
    "score, and learns from it.",
    REJECTED: "A person says that this join is wrong: HyperJoin never suggests it again, and "
    "learns from it.",
}
"""What people's tags mean to us."""


def _define(namespace: str, one: _Property) -> StructuredPropertyDefinitionClass:
    several, single = PropertyCardinalityClass.MULTIPLE, PropertyCardinalityClass.SINGLE
    columns = {"allowedTypes": ["urn:li:entityType:datahub.schemaField"]}
    return StructuredPropertyDefinitionClass(
        qualifiedName=f"{namespace}.{one.name}",
        displayName=one.title,
        description=one.description,
        valueType=f"urn:li:dataType:datahub.{one.value_type}",
        typeQualifier=columns if one.value_type == "urn" else None,
        cardinality=several if one.multiple else single,
        entityTypes=[f"urn:li:entityType:datahub.{one.entity}"],
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
        headers={"If-None-Match": "*"},
    )


def define_properties(namespace: str) -> Iterator[MetadataChangeProposalWrapper]:
    """Proposals that create the properties where they do not exist.

    A definition that the catalog has already, changed by a person perhaps, is left as it is.

    Args:
        namespace: What the properties' names begin with.

    Yields:
        Definition and display settings of each property.
    """
    for one in _PROPERTIES:
        for aspect in (_define(namespace, one), one.settings):
            yield _create(property_urn(namespace, one.name), aspect)


def define_tags() -> Iterator[MetadataChangeProposalWrapper]:
    """Proposals that create the tags of relationships where they do not exist.

    Yields:
        One for each confidence band, which we set, and for each decision, which people do.
    """
    low, high = BANDS["medium"], BANDS["high"]
    bands = f"high from {high:.2f}, medium from {low:.2f}, low below"
    for band in BANDS:
        aspect = TagPropertiesClass(
            name=f"join:suggested-{band}",
            description=f"A join found in the data, of {band} joinability: {bands}.",
        )
        yield _create(band_urn(band), aspect)
    for tag, meaning in _DECISIONS.items():
        yield _create(
            tag, TagPropertiesClass(name=TagUrn.from_string(tag).name, description=meaning)
        )
