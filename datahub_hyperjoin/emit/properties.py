"""Write joins and suggestions as structured properties of columns and datasets."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    PropertyCardinalityClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertySettingsClass,
)
from datahub.metadata.urns import StructuredPropertyUrn
from typing_extensions import override

from datahub_hyperjoin.emit.layer import (
    Layer,
    Withdrawal,
    Writing,
    create,
    create_missing_definitions,
)
from datahub_hyperjoin.emit.patches import remove_properties, set_properties
from datahub_hyperjoin.emit.publication import by_table
from datahub_hyperjoin.joins import NOT_VERIFIED, Derivation, Join, Role, Verdict, lone_joins
from datahub_hyperjoin.joins.describe import more_tables
from datahub_hyperjoin.metadata.partners import (
    RELATIONS,
    Partner,
    in_key,
    name_through,
    score_in_words,
)
from datahub_hyperjoin.metadata.urns import (
    BEST_JOIN_SCORE,
    CONFIRMED_JOINS,
    DELETED_JOINS,
    JOIN_LINKS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    REJECTED_JOINS,
    SUGGESTED_JOINS,
    column_page,
    column_urn,
    dataset_urn,
    flat_property_urn,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId, TableId, labels
from datahub_hyperjoin.visible import markdown, visible
from datahub_hyperjoin.wording import number_of, percent

_SENTENCES = {
    Role.REFERENCE: ("refers to", "is referenced by"),
    Role.ONE_TO_ONE: ("is one to one with", "is one to one with"),
    Role.SIBLING: ("refers to the same key as", "refers to the same key as"),
    Role.SAME_DOMAIN: ("shares values with", "shares values with"),
}
"""For each role, the verb between the referring column and its partner, and the reverse verb."""

_MAX_JOINS = 10
"""Maximum number of joins that a dataset's property lists; the properties of columns list all."""

_Ranks = Mapping[tuple[ColumnId, ColumnId], int]
_NO_RANKS: _Ranks = {}

_MAX_BYTES = 32766
"""Maximum length in bytes of a value that DataHub's search index accepts."""


def partners(
    joins: Sequence[Join], names: Mapping[TableId, str], ranks: _Ranks = _NO_RANKS
) -> dict[ColumnId, list[Partner]]:
    """Return the join partners of each column, best first and without duplicates."""
    found: dict[ColumnId, dict[ColumnId, Partner]] = defaultdict(dict)
    for join in sorted(joins, key=_by_use):
        leads_right = join.referenced != join.left
        for seen, leads_on in ((join, leads_right), (join.reversed, not leads_right)):
            relation, share = _relation(join, names, leads_on=leads_on), _share(seen)
            for own, other in seen.pairs:
                # Several joins may contain a pair. That of the pair alone describes it best.
                if other not in found[own] or not join.further:
                    found[own][other] = Partner(other, join.joinability, relation, share)
    return {
        column: sorted(own.values(), key=lambda it: ranks.get((column, it.column), inf))
        for column, own in sorted(found.items())
    }


def _with_listed(
    found: Mapping[ColumnId, Sequence[Partner]], listed: Mapping[ColumnId, Sequence[Partner]]
) -> dict[ColumnId, list[Partner]]:
    """Append each column's join partners in `listed` to its partners in `found`, each only once."""
    merged = {column: [*partners] for column, partners in found.items()}
    for column, kept in listed.items():
        own = merged.setdefault(column, [])
        known = {partner.column for partner in own}
        own += [partner for partner in kept if partner.column not in known]
    return dict(sorted(merged.items()))


def _relation(join: Join, names: Mapping[TableId, str], *, leads_on: bool) -> str:
    relation = RELATIONS[join.role][0 if leads_on else 1]
    if join.via:
        return name_through(names[join.via[0].table])
    key = in_key(len(join.pairs)) if join.further and join.evidence else ""
    return ", ".join(filter(None, [relation, key, *_standing(join)]))


def _standing(join: Join) -> Iterator[str]:
    """Yield what a list marks in a join: that people accepted it, and that nobody verified it."""
    if join.verdict is Verdict.ACCEPTED:
        yield Verdict.ACCEPTED.value
    if join.evidence is None:
        yield NOT_VERIFIED


def _fit(text: str) -> str:
    # Only very long names exceed this size, and the cut may split a character.
    return text.encode()[:_MAX_BYTES].decode(errors="ignore")


def emit_column(
    column: ColumnId,
    joined: Sequence[Partner],
    names: Mapping[TableId, str],
    namespace: str,
    more: str = "",
) -> MetadataWorkUnit:
    """Write the join partners of one column as structured properties; `more` counts the others."""
    best = max((partner.score for partner in joined if partner.is_verified), default=0.0)
    links = [_fit(f"{_link([it.column], names)} · {markdown(it.notes)}") for it in joined]
    texts = [_fit(f"{_label([it.column], names)} ({it.notes})") for it in joined]
    rest = [more] if more else []
    values: dict[str, Sequence[str] | Sequence[float]] = {
        flat_property_urn(namespace, JOIN_LINKS): [*links, *rest],
        property_urn(namespace, JOINABLE_WITH): [column_urn(it.column) for it in joined],
        property_urn(namespace, JOIN_SUGGESTIONS): [*texts, *rest],
        property_urn(namespace, BEST_JOIN_SCORE): [round(best, 2)],
    }
    return set_properties(column_urn(column), values)


def _label(columns: Sequence[ColumnId], names: Mapping[TableId, str]) -> str:
    """Return a label that consists of column names, followed by the name of their table."""
    # DataHub's pages cut off the end of long names, so the columns come first.
    return visible(f"{_paths(columns)} · {names[columns[0].table]}")


def _link(columns: Sequence[ColumnId], names: Mapping[TableId, str]) -> str:
    return f"[{markdown(_label(columns, names))}]({column_page(columns[0])})"


def _share(join: Join, values: str = "values") -> str:
    """Describe the share of the left column's rows, or else of its values, with a join partner."""
    if (counts := join.left_counts) and counts.matched_share is not None:
        return f"{percent(counts.matched_share)} of rows"
    # A share of the values of a whole key says little about one of its columns.
    if join.evidence is None or join.further:
        return ""
    return f"{percent(join.evidence.left_containment)} of {values}"


def emit_dataset(
    table: TableId,
    joins: Sequence[Join],
    names: Mapping[TableId, str],
    namespace: str,
    more: str = "",
) -> MetadataWorkUnit:
    """Write the best joins of one dataset as a structured property; `more` counts the others."""
    lines = [_line(join, table, names) for join in sorted(joins, key=_by_use)[:_MAX_JOINS]]
    if (left_out := len(joins) - _MAX_JOINS) > 0:
        lines.append(f"and {number_of(left_out, 'more join')}, which the columns list")
    values = [*lines, more] if more else lines
    return set_properties(dataset_urn(table), {property_urn(namespace, SUGGESTED_JOINS): values})


def _count_more(following: Mapping[TableId, Derivation], listed: Iterable[TableId]) -> str:
    """Count the tables that have only joins that follow; empty if there are none."""
    left_out = following.keys() - {*listed}
    return more_tables(following[table] for table in left_out)


def _by_use(join: Join) -> tuple[bool, bool, int, float, ColumnId, ColumnId]:
    guessed, is_new = join.evidence is None, not join.catalog.is_confirmed
    return is_new, guessed, join.role.place, -join.joinability, join.left, join.right


def _line(join: Join, table: TableId, names: Mapping[TableId, str]) -> str:
    seen = join.seen_from(table)
    own, other = zip(*seen.pairs, strict=True)
    leads_on = seen.referenced != seen.left
    verb = _SENTENCES[join.role][0 if leads_on else 1]
    through = f" through {markdown(names[join.via[0].table])}" if join.via else ""
    line = f"{markdown(_paths(own))} {verb} {_link(other, names)}{through}"
    score = score_in_words(join.joinability)
    notes = [*_standing(join), _matches(seen), f"joinability {score}" if score else ""]
    return _fit(" · ".join([line, *filter(None, notes)]))


def _matches(join: Join) -> str:
    """Say how much of the left column matches, and what a join to the table of a key drops."""
    match = f"{share} match" if (share := _share(join, "distinct values")) else ""
    matched = join.left_counts.matched_share if join.left_counts else None
    if matched is None or matched == 1 or join.multiplies:
        return match
    return f"{match}, an inner join drops {percent(1 - matched)}"


def _paths(columns: Sequence[ColumnId]) -> str:
    paths = ", ".join(column.path for column in columns)
    return f"({paths})" if len(columns) > 1 else paths


@dataclass(frozen=True)
class _Property:
    name: str
    title: str
    description: str
    value_type: str = "urn"
    entity: str = "schemaField"
    settings: StructuredPropertySettingsClass = field(
        default_factory=StructuredPropertySettingsClass
    )
    multiple: bool = True
    flat: bool = False


_PROPERTIES = (
    _Property(
        JOINABLE_WITH, "Joinable with", "Columns that can be joined with this column, best first."
    ),
    _Property(
        JOIN_SUGGESTIONS,
        "Join suggestions",
        "Columns that can be joined with this column, best first: the column and its table, the "
        "joinability unless it is 1.00, which share of this column's rows or values has a partner, "
        "how the two relate, and whether people accepted the join. Many rows of this table refer "
        "to one of the other in `many to one`; columns with the `same key` refer to one key.",
        "string",
        settings=StructuredPropertySettingsClass(showInColumnsTable=True),
    ),
    _Property(
        JOIN_LINKS,
        "Joins with",
        "The same suggestions as links, which open the other dataset at the other column.",
        "rich_text",
        flat=True,
    ),
    _Property(
        BEST_JOIN_SCORE,
        "Best join score",
        "Joinability of this column's best suggestion, from 0 to 1.",
        "number",
        settings=StructuredPropertySettingsClass(showInSearchFilters=True),
        multiple=False,
    ),
    _Property(
        CONFIRMED_JOINS,
        "Confirmed joins",
        "Columns that this column joins with, as confirmed by people. Edit this property freely: "
        "HyperJoin only reads it. A confirmed join is always suggested, whatever its score, and "
        "later runs learn from it. It is enough to list a join at one of its two columns.",
    ),
    _Property(
        REJECTED_JOINS,
        "Rejected joins",
        "Columns that this column does not join with, as decided by people. Edit this property "
        "freely: HyperJoin only reads it. A rejected join is never suggested again, and later runs "
        "learn from it. It is enough to list a join at one of its two columns.",
    ),
    _Property(
        DELETED_JOINS,
        "Deleted joins",
        "Columns whose suggested join with this column people deleted, hid or rejected. HyperJoin "
        "writes this property, so that it never suggests them again. To undo a deletion, list the "
        "column under Confirmed joins.",
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


def define_properties(namespace: str) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the metadata that creates the structured properties for joins."""
    multiple, single = PropertyCardinalityClass.MULTIPLE, PropertyCardinalityClass.SINGLE
    columns = {"allowedTypes": ["urn:li:entityType:datahub.schemaField"]}
    for it in _PROPERTIES:
        urn = (flat_property_urn if it.flat else property_urn)(namespace, it.name)
        definition = StructuredPropertyDefinitionClass(
            qualifiedName=StructuredPropertyUrn.from_string(urn).id,
            displayName=it.title,
            description=it.description,
            valueType=f"urn:li:dataType:datahub.{it.value_type}",
            typeQualifier=columns if it.value_type == "urn" else None,
            cardinality=multiple if it.multiple else single,
            entityTypes=[f"urn:li:entityType:datahub.{it.entity}"],
        )
        yield create(urn, definition)
        yield create(urn, it.settings)


_COLUMN_PROPERTIES = (JOINABLE_WITH, JOIN_SUGGESTIONS, BEST_JOIN_SCORE)


class Properties(Layer):
    """Joins as structured properties of columns and datasets."""

    key = "properties"
    needs: ClassVar = {
        "structuredProperty": ("propertyDefinition",),
        "schemaField": ("structuredProperties",),
        "dataset": ("structuredProperties",),
    }
    fields = ("columns", "datasets")
    records = 2 * len(_PROPERTIES)
    per_table = 1
    per_join = 1

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        publication, namespace = run.publication, run.config.namespace
        listed = run.existing.listed
        yield from create_missing_definitions(define_properties(namespace), run.graph)
        kept = {partner.column.table for own in listed.values() for partner in own}
        names = labels({table: table.name for table in kept} | dict(publication.titles))
        joins = [*publication.listed, *lone_joins(publication.crosswalks, publication.joins)]
        found = _with_listed(partners(joins, names, publication.ranks), listed)
        following = publication.following
        shared = partners(publication.shared, names)
        also = {column: shared[column] for column in found.keys() & shared.keys()}
        for column, joined in _with_listed(found, also).items():
            if column in also:
                # The other pipelines must not list the same joins in another order.
                joined.sort(key=lambda partner: (-partner.score, partner.column))
            more = _count_more(following[column], (it.column.table for it in joined))
            yield emit_column(column, joined, names, namespace, more)
            run.written.columns.append(column_urn(column))
        shared_by_table = by_table(publication.shared)
        listed_by_table = by_table(publication.listed)
        for table, own in by_table(publication.linking).items():
            tables = (each for join in listed_by_table[table] for each in join.tables)
            more = _count_more(following[table], tables)
            joins = [*own, *shared_by_table.get(table, ())]
            yield emit_dataset(table, joins, names, namespace, more)
            run.written.datasets.append(dataset_urn(table))

    @override
    def withdraw(self, gone: Withdrawal) -> Iterator[MetadataWorkUnit]:
        # Columns and datasets belong to their connectors, so they only lose our properties.
        own = [property_urn(gone.namespace, name) for name in _COLUMN_PROPERTIES]
        own.append(flat_property_urn(gone.namespace, JOIN_LINKS))
        for column in gone.stale.columns:
            yield remove_properties(column, own)
        for dataset in gone.stale.datasets:
            yield remove_properties(dataset, [property_urn(gone.namespace, SUGGESTED_JOINS)])
