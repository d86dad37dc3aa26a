"""Recognise the DataHub events that may change the joins of a recipe's tables.

A person's change has DataHub's default run ID. Whatever a run writes, of this project or of any
other source, has the ID of that run. So the action never answers its own writes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from datahub.emitter.serialization_helper import post_json_transform
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ChangeTypeClass,
    EntityChangeEventClass,
    GenericAspectClass,
    GlobalTagsClass,
    GlossaryTermsClass,
    MetadataChangeLogClass,
    SchemaMetadataClass,
    StatusClass,
    StructuredPropertiesClass,
    _Aspect,
)
from datahub.metadata.urns import SchemaFieldUrn

from datahub_hyperjoin.catalog.scope import PlatformInstance
from datahub_hyperjoin.metadata.urns import (
    DECIDING_PROPERTIES,
    DECIDING_TAGS,
    DELETED_JOINS,
    JOIN_LINKS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    column_id,
    flat_property_urn,
    property_urn,
    table_id,
)

_NO_RUN = {None, "", "no-run-id-provided"}
"""Run IDs of changes that no ingestion run made."""
_SYSTEM = {"urn:li:corpuser:__datahub_system", "urn:li:principal:UNKNOWN"}
_KEY = "erModelRelationshipKey"
_Of = TypeVar("_Of", bound=_Aspect)


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """A change to the catalog that the next run will read."""

    urn: str
    """URN of the entity that changed."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A person's removal of suggestions from a column.

    The catalog keeps no trace of the removal.
    """

    urn: str
    """URN of the column."""

    partners: tuple[str, ...]
    """URNs of the columns whose suggestions the person removed."""

    definition: str
    """URN of the structured property from which the person removed the suggestions."""

    stamp: AuditStampClass
    """The person who removed the suggestions, and the time."""


@dataclass(frozen=True, slots=True)
class ChangeDetector:
    """A detector of the DataHub events that may change the joins of a recipe's tables."""

    instances: Sequence[PlatformInstance]
    """Platform instances of the recipe's tables."""

    namespace: str
    """Namespace of this project's structured properties."""

    def detect(self, event: object) -> CatalogChange | Removal | None:
        """Return the change that an event reports, if that change affects joins."""
        match event:
            case MetadataChangeLogClass():
                return self._detect_in_aspect(event)
            case EntityChangeEventClass(category="TAG", entityType="erModelRelationship"):
                return CatalogChange(event.entityUrn) if event.modifier in DECIDING_TAGS else None
            case EntityChangeEventClass(category="LIFECYCLE", entityType="dataset"):
                created = event.operation == "CREATE" and self._covers(event.entityUrn)
                return CatalogChange(event.entityUrn) if created else None
            case _:
                return None

    def _detect_in_aspect(self, event: MetadataChangeLogClass) -> CatalogChange | Removal | None:
        urn = event.entityUrn
        if urn is None or event.changeType == ChangeTypeClass.RESTATE:
            return None
        match event.entityType, event.aspectName:
            case "dataset", "schemaMetadata":
                return CatalogChange(urn) if self._covers(urn) and _has_new_columns(event) else None
            case "erModelRelationship", name if _by_person(event):
                return CatalogChange(urn) if _decides(event, name) else None
            case "schemaField", "structuredProperties" if _by_person(event):
                return self._detect_in_column(event, urn)
            case "schemaField", "glossaryTerms" if _by_person(event):
                return CatalogChange(urn) if self._loses_term(event, urn) else None
            case _:
                return None

    def _covers(self, urn: str) -> bool:
        table = table_id(urn)
        return any(instance.contains(table) for instance in self.instances)

    def _loses_term(self, event: MetadataChangeLogClass, urn: str) -> bool:
        """Return whether an event removes a glossary term from a column that the recipe covers.

        It does not matter who had added the term.
        """
        before, after = (
            {term.urn for term in it.terms} if it else set()
            for it in _states(event, GlossaryTermsClass)
        )
        return bool(before - after) and self._covers(SchemaFieldUrn.from_string(urn).parent)

    def _detect_in_column(
        self, event: MetadataChangeLogClass, urn: str
    ) -> CatalogChange | Removal | None:
        before, after = (_values(aspect) for aspect in _states(event, StructuredPropertiesClass))
        if event.changeType != ChangeTypeClass.DELETE and event.created:
            definition, gone = self._removed(before, after)
            own = column_id(urn)
            if partners := tuple(each for each in gone if column_id(each) != own):
                return Removal(urn, partners, definition, event.created)
        stated = [
            property_urn(self.namespace, name) for name in (*DECIDING_PROPERTIES, DELETED_JOINS)
        ]
        changed = any(set(before.get(one, ())) != set(after.get(one, ())) for one in stated)
        return CatalogChange(urn) if changed else None

    def _removed(
        self, before: Mapping[str, list[str]], after: Mapping[str, list[str]]
    ) -> tuple[str, list[str]]:
        """Return the first property that lost entries, and the URNs of the lost columns.

        `before` and `after` hold the entries of each property. No URN is returned if no property
        lost an entry. A person who edits an entry or adds one has removed nothing.
        """
        joinable = property_urn(self.namespace, JOINABLE_WITH)
        partners = before.get(joinable, [])
        others = (
            property_urn(self.namespace, JOIN_SUGGESTIONS),
            flat_property_urn(self.namespace, JOIN_LINKS),
        )
        for name in (joinable, *others):
            listed, left = before.get(name, []), set(after.get(name, ()))
            # The lists belong together by position. The last text may count further tables.
            if len(listed) - len(partners) not in {0, 1} or not left < set(listed):
                continue
            gone = [urn for urn, value in zip(partners, listed, strict=False) if value not in left]
            if gone:
                return name, gone
        return joinable, []


def _by_person(event: MetadataChangeLogClass) -> bool:
    run = event.systemMetadata.runId if event.systemMetadata else None
    actor = event.created.actor if event.created else ""
    return run in _NO_RUN and actor not in _SYSTEM


def _decides(event: MetadataChangeLogClass, aspect: str | None) -> bool:
    """Return whether a change to a relationship makes or undoes a decision about the join."""
    if aspect == _KEY:
        return event.changeType == ChangeTypeClass.DELETE
    if aspect == StatusClass.ASPECT_NAME:
        before, after = (bool(it and it.removed) for it in _states(event, StatusClass))
        return before != after
    if aspect == GlobalTagsClass.ASPECT_NAME:
        old, new = (
            {tag.tag for tag in it.tags} & DECIDING_TAGS.keys() if it else set()
            for it in _states(event, GlobalTagsClass)
        )
        return old != new
    return False


def _has_new_columns(event: MetadataChangeLogClass) -> bool:
    before, after = (
        {(field.fieldPath, field.nativeDataType) for field in it.fields} if it else set()
        for it in _states(event, SchemaMetadataClass)
    )
    return bool(after) and before != after


def _values(properties: StructuredPropertiesClass | None) -> dict[str, list[str]]:
    assigned = properties.properties if properties else []
    return {one.propertyUrn: [str(value) for value in one.values] for one in assigned}


def _states(event: MetadataChangeLogClass, kind: type[_Of]) -> tuple[_Of | None, _Of | None]:
    """Parse the old and the new version of a changed aspect."""
    # After a deletion, some servers repeat the deleted aspect.
    now = None if event.changeType == ChangeTypeClass.DELETE else event.aspect
    return _parse(event.previousAspectValue, kind), _parse(now, kind)


def _parse(aspect: GenericAspectClass | None, kind: type[_Of]) -> _Of | None:
    if aspect is None:
        return None
    value: Any = post_json_transform(json.loads(aspect.value))
    return kind.from_obj(value)
