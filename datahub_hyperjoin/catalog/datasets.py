"""Read the columns, keys, tags and glossary terms of datasets in DataHub."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    ArrayTypeClass,
    BooleanTypeClass,
    BytesTypeClass,
    DataPlatformInstanceClass,
    DatasetPropertiesClass,
    DateTypeClass,
    EditableSchemaMetadataClass,
    FixedTypeClass,
    ForeignKeyConstraintClass,
    GlobalTagsClass,
    GlossaryTermInfoClass,
    GlossaryTermsClass,
    MapTypeClass,
    NumberTypeClass,
    RecordTypeClass,
    SchemaFieldClass,
    SchemaMetadataClass,
    StatusClass,
    TagPropertiesClass,
    TimeTypeClass,
    UnionTypeClass,
)
from datahub.metadata.urns import DataPlatformInstanceUrn, DataPlatformUrn
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.entities import (
    Aspects,
    NoteSkipped,
    aspect_of,
    fetch_each,
    is_removed,
    log_skipped,
    parse_entity,
    scroll,
)
from datahub_hyperjoin.catalog.scope import DatasetFilter, PlatformInstance
from datahub_hyperjoin.catalog_facts import ForeignKey
from datahub_hyperjoin.metadata.urns import column_id, plain_path, table_id
from datahub_hyperjoin.tables import (
    ColumnId,
    DataType,
    DescribedTable,
    Table,
    TableId,
    describe_columns,
)

_LABEL_ASPECTS = (EditableSchemaMetadataClass, GlobalTagsClass, GlossaryTermsClass)
"""Aspects that hold a dataset's tags and terms, besides the schema itself."""


_INFOS: tuple[tuple[str, type[TagPropertiesClass] | type[GlossaryTermInfoClass]], ...] = (
    ("tag", TagPropertiesClass),
    ("glossaryTerm", GlossaryTermInfoClass),
)
"""Entity types of labels, and the aspects that hold their names."""


_TYPES: Mapping[type, DataType] = {
    ArrayTypeClass: DataType.NESTED,
    BooleanTypeClass: DataType.BOOLEAN,
    BytesTypeClass: DataType.BINARY,
    DateTypeClass: DataType.DATE,
    FixedTypeClass: DataType.BINARY,
    MapTypeClass: DataType.NESTED,
    NumberTypeClass: DataType.INTEGER,
    RecordTypeClass: DataType.NESTED,
    TimeTypeClass: DataType.TIMESTAMP,
    UnionTypeClass: DataType.NESTED,
}
"""Data type for each class of types in DataHub; columns of any other class hold text."""
_FRACTION = re.compile(r"float|double|real|\(\s*\d+\s*,\s*[1-9]", re.IGNORECASE)
"""Matches the native names of number types with decimals, such as `decimal(10,2)`."""


def declared_type(field: SchemaFieldClass) -> DataType:
    """Return the type that DataHub declares for a column."""
    declared = _TYPES.get(type(field.type.type), DataType.TEXT)
    if declared is DataType.INTEGER and _FRACTION.search(field.nativeDataType or ""):
        return DataType.DECIMAL
    return declared


_ASPECTS = tuple(
    kind.ASPECT_NAME
    for kind in (
        SchemaMetadataClass,
        DatasetPropertiesClass,
        DataPlatformInstanceClass,
        StatusClass,
        *_LABEL_ASPECTS,
    )
)
_ALL = DatasetFilter()
_MESSAGE_KEY = "[key=True]"
"""Part of the field path of each column in a message key; such a column need not be unique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A table as the catalog describes it: columns, types, keys, tags and glossary terms."""

    table: TableId
    title: str
    """The name that DataHub's pages show."""

    columns: tuple[tuple[str, str], ...]
    """Plain path (without types) and DataHub field path of each column, in the order of the schema.
    """

    types: tuple[DataType, ...] = ()
    primary_key: tuple[str, ...] = ()
    """Plain paths (without types) of the primary key's columns; empty if no key is declared."""

    foreign_keys: tuple[ForeignKey, ...] = ()
    labels: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a column's plain path and the URN of a tag or glossary term of that column; the path
    is empty for a tag or term of the dataset itself."""

    @property
    def described(self) -> DescribedTable:
        """The table and its declared columns, without rows."""
        paths = (path for path, _ in self.columns)
        types = self.types or (DataType.TEXT,) * len(self.columns)
        columns = describe_columns(self.table, zip(paths, types, strict=True))
        return DescribedTable(id=self.table, title=self.title, columns=columns)


def _fields(schema: SchemaMetadataClass) -> dict[str, SchemaFieldClass]:
    """Return the field of each column by its plain path (without types)."""
    fields: dict[str, SchemaFieldClass] = {}
    for field in schema.fields:
        # Members of a union have the same plain path; only the first member is returned.
        fields.setdefault(plain_path(field.fieldPath), field)
    # The root of a nested schema is a field, too; its plain path is empty.
    fields.pop("", None)
    return fields


def _primary_key(schema: SchemaMetadataClass) -> tuple[str, ...]:
    # The paths contain no types. Connectors list the key in the schema, mark its columns, or
    # do both.
    marked = [field.fieldPath for field in schema.fields if field.isPartOfKey]
    paths = schema.primaryKeys or [path for path in marked if _MESSAGE_KEY not in path]
    return tuple(dict.fromkeys(map(plain_path, paths)))


def _pairs(key: ForeignKeyConstraintClass) -> tuple[tuple[ColumnId, ColumnId], ...]:
    sources, targets = key.sourceFields, key.foreignFields
    if len(sources) != len(targets):
        reason = f"{len(sources)} columns refer to {len(targets)}"
        raise ValueError(reason)
    return tuple(zip(map(column_id, sources), map(column_id, targets), strict=True))


def _foreign_key(urn: str, key: ForeignKeyConstraintClass, warn: NoteSkipped) -> ForeignKey | None:
    try:
        return ForeignKey(name=key.name, pairs=_pairs(key))
    except (InvalidUrnError, ValueError) as error:
        warn(urn, f"its foreign key {key.name!r} cannot be read: {error}")
        return None


def _title(table: TableId, properties: DatasetPropertiesClass | None) -> str:
    name = properties.name if properties else None
    return name or table.name.removeprefix(table.parent).lstrip("./")


def dataset_of(urn: str, aspects: Aspects, *, warn: NoteSkipped = log_skipped) -> Dataset | None:
    """Build a `Dataset` from the aspects of an entity."""
    schema = aspect_of(aspects, SchemaMetadataClass)
    if schema is None or is_removed(aspects):
        return None
    try:
        table = table_id(urn)
    except InvalidUrnError as error:  # older clients wrote URNs that today's client refuses
        warn(urn, f"its URN cannot be read: {error}")
        return None
    keys = [_foreign_key(urn, key, warn) for key in schema.foreignKeys or ()]
    fields = _fields(schema)
    return Dataset(
        table=table,
        title=_title(table, aspect_of(aspects, DatasetPropertiesClass)),
        columns=tuple((plain, field.fieldPath) for plain, field in fields.items()),
        types=tuple(map(declared_type, fields.values())),
        primary_key=_primary_key(schema),
        foreign_keys=tuple(key for key in keys if key),
        labels=frozenset(_read_labels(aspects)),
    )


def _belongs_to(instance: PlatformInstance, table: TableId, aspects: Aspects) -> bool:
    # Its `dataPlatformInstance` aspect decides; if that names no instance, the dataset's name
    # does.
    declared = aspect_of(aspects, DataPlatformInstanceClass)
    if not instance.instance or declared is None or not declared.instance:
        return instance.contains(table)
    platform = DataPlatformUrn(table.platform).urn()
    within = declared.instance == DataPlatformInstanceUrn(platform, instance.instance).urn()
    return within and instance.covers(table)


def _search_rules(platform: str, env: str) -> list[dict[str, str | bool | list[str]]]:
    fields = {"platform": DataPlatformUrn(platform).urn()} if platform else {}
    return [
        {"field": field, "values": [value]} for field, value in [*fields.items(), ("origin", env)]
    ]


def read_datasets(
    graph: DataHubGraph,
    instances: Sequence[PlatformInstance],
    *,
    dataset_filter: DatasetFilter = _ALL,
    warn: NoteSkipped = log_skipped,
) -> list[Dataset]:
    """Read the datasets of the given platform instances."""
    # A dataset belongs to a platform instance if its `dataPlatformInstance` names it or,
    # without that aspect, if its name begins with the instance, as DataHub's connectors name
    # tables.
    # The search does not filter by instance: datasets without the aspect belong to one by name.
    places = dict.fromkeys((instance.platform, instance.env) for instance in instances)
    filters: RawSearchFilter = [{"and": _search_rules(*place)} for place in places]
    datasets = []
    aspect_names = list(dict.fromkeys([*_ASPECTS, *dataset_filter.aspects]))
    for urn, aspects in scroll(graph, "dataset", aspect_names, filters=filters, warn=warn):
        dataset = parse_entity(urn, partial(dataset_of, urn, aspects, warn=warn), warn)
        if not dataset or not dataset_filter.matches(aspects):
            continue
        if any(_belongs_to(instance, dataset.table, aspects) for instance in instances):
            datasets.append(dataset)
    return sorted(datasets, key=lambda dataset: dataset.table)


def _read_labels(aspects: Aspects) -> Iterator[tuple[str, str]]:
    """Yield the path of each labelled column, with the URN of the tag or glossary term."""
    tags, terms = aspect_of(aspects, GlobalTagsClass), aspect_of(aspects, GlossaryTermsClass)
    yield from (("", urn) for urn in _urns(tags, terms))
    schema = aspect_of(aspects, SchemaMetadataClass)
    edited = aspect_of(aspects, EditableSchemaMetadataClass)
    infos = edited.editableSchemaFieldInfo if edited else ()
    for field in (*(schema.fields if schema else ()), *infos):
        path = plain_path(field.fieldPath)
        yield from ((path, urn) for urn in _urns(field.globalTags, field.glossaryTerms))


def name_labels(graph: DataHubGraph, datasets: Iterable[Dataset]) -> dict[str, str]:
    """Read the names of the datasets' tags and glossary terms, by URN."""
    # The URN of a term that was made on DataHub's pages does not contain the term's name.
    urns = {urn for dataset in datasets for _, urn in dataset.labels}
    names = {}
    for entity, kind in _INFOS:
        of_entity = sorted(urn for urn in urns if urn.startswith(f"urn:li:{entity}:"))
        for urn, info in fetch_each(graph, entity, of_entity, kind).items():
            if info.name:
                names[urn] = info.name
    return names


def mark_personal(
    tables: Sequence[Table],
    datasets: Mapping[TableId, Dataset],
    names: Mapping[str, str],
    patterns: Sequence[str],
) -> list[Table]:
    """Mark columns as personal data if the name or ID of a tag or term matches a pattern."""
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


def _marked(table: Table, dataset: Dataset | None, personal: Collection[str]) -> Table:
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
