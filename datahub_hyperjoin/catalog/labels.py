"""Find the columns that are labelled as personal data by a tag or glossary term."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    EditableSchemaMetadataClass,
    GlobalTagsClass,
    GlossaryTermInfoClass,
    GlossaryTermsClass,
    SchemaMetadataClass,
    TagPropertiesClass,
)

from datahub_hyperjoin.catalog.entities import Aspects, aspect_of, fetch
from datahub_hyperjoin.metadata.urns import plain_path
from datahub_hyperjoin.tables import Table, TableId

LABEL_ASPECTS = (EditableSchemaMetadataClass, GlobalTagsClass, GlossaryTermsClass)
"""Aspects that hold a dataset's tags and terms, besides the schema itself."""


_INFOS: tuple[tuple[str, type[TagPropertiesClass] | type[GlossaryTermInfoClass]], ...] = (
    ("tag", TagPropertiesClass),
    ("glossaryTerm", GlossaryTermInfoClass),
)
"""Entity types of labels, and the aspects that hold their names."""


class Labelled(Protocol):
    """A dataset and its columns, with the labels of both.

    A label is a tag or a glossary term.
    """

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Each column's path without types (plain path), and its DataHub field path."""
        ...

    @property
    def labels(self) -> frozenset[tuple[str, str]]:
        """The path of each labelled column, paired with the URN of its tag or glossary term.

        The path is empty for a tag or term of the dataset.
        """
        ...


def read_labels(aspects: Aspects) -> Iterator[tuple[str, str]]:
    """Yield the path of each labelled column, with the URN of the tag or glossary term.

    Yields:
        The plain path of a column, or an empty path for the dataset itself, and a URN.
    """
    tags, terms = aspect_of(aspects, GlobalTagsClass), aspect_of(aspects, GlossaryTermsClass)
    yield from (("", urn) for urn in _urns(tags, terms))
    schema = aspect_of(aspects, SchemaMetadataClass)
    edited = aspect_of(aspects, EditableSchemaMetadataClass)
    fields = [
        *(schema.fields if schema else ()),
        *(edited.editableSchemaFieldInfo if edited else ()),
    ]
    for field in fields:
        path = plain_path(field.fieldPath)
        yield from ((path, urn) for urn in _urns(field.globalTags, field.glossaryTerms))


def name_labels(graph: DataHubGraph, datasets: Iterable[Labelled]) -> dict[str, str]:
    """Read the names of the datasets' tags and glossary terms, by URN.

    The URN of a term that was made on DataHub's pages does not contain the term's name.

    Returns:
        Names by URN; labels without a name of their own are left out.
    """
    urns = {urn for dataset in datasets for _, urn in dataset.labels}
    names = {}
    for entity, kind in _INFOS:
        of_entity = sorted(urn for urn in urns if urn.startswith(f"urn:li:{entity}:"))
        for urn, aspects in fetch(graph, entity, of_entity, [kind.ASPECT_NAME]).items():
            info = aspect_of(aspects, kind)
            if info and info.name:
                names[urn] = info.name
    return names


def mark_personal(
    tables: Sequence[Table],
    datasets: Mapping[TableId, Labelled],
    names: Mapping[str, str],
    patterns: Sequence[str],
) -> list[Table]:
    """Mark columns as personal data if the name or ID of a tag or term matches a pattern.

    Returns:
        The tables, in the same order. All columns of a dataset are personal if it has such a label
        itself.
    """
    found = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    urns = {urn for dataset in datasets.values() for _, urn in dataset.labels}
    personal = {
        urn
        for urn in urns
        # The ID of a tag may be its name, or one that DataHub has generated.
        for name in (urn.rpartition(":")[2], names.get(urn, ""))
        if any(pattern.search(name) for pattern in found)
    }
    return [_marked(table, datasets.get(table.id), personal) for table in tables]


def _marked(table: Table, dataset: Labelled | None, personal: Collection[str]) -> Table:
    if dataset is None:
        return table
    paths = {path for path, urn in dataset.labels if urn in personal}
    # A label of the dataset itself concerns all columns.
    if "" in paths:
        paths = {path for path, _ in dataset.columns}
    return replace(table, personal=frozenset(paths)) if paths else table


def _urns(tags: GlobalTagsClass | None, terms: GlossaryTermsClass | None) -> Iterator[str]:
    yield from (one.tag for one in (tags.tags if tags else ()))
    yield from (one.urn for one in (terms.terms if terms else ()))
