"""Joins as DataHub's relationships, and as the texts of their tags.

The source of a directed join is the referring table and its destination the referenced one. Where
a join has no direction, the source is the dataset with the greater URN, as in DataHub's server. The
evidence is stored in the custom properties, by the names of its fields. GraphQL shows neither these
nor structured properties of a relationship, but it shows the text that is stored with a tag, so
that the `context` of the role's tag repeats what paths of joins need. The custom property
`model_version` distinguishes our relationships from those of other authors: an edit in DataHub's
pages drops all custom properties. Edits through other ways keep them, so an editor in
`lastModified` or a name that does not follow from the columns marks an edited relationship, too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import (
    NOT_VERIFIED,
    SCORE_DIGITS,
    UNVERIFIED,
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Published,
    Role,
    RowCounts,
    rounded_share,
)
from datahub_hyperjoin.metadata.urns import (
    AUTHOR,
    KEPT_URNS,
    column_id,
    column_urn,
    dataset_urn,
    plain_path,
    relationship_urn,
    table_id,
)
from datahub_hyperjoin.tables import ColumnId, Pair, in_order, pair_of

if TYPE_CHECKING:
    from datahub.metadata.schema_classes import ERModelRelationshipPropertiesClass

MODEL_VERSION = "model_version"
"""The custom property that marks the relationships and queries that this package wrote. It names
the model of the run that changed the aspect; a newer model alone changes nothing."""

SQL_DIALECT = "sql_dialect"
"""The custom property of a query that names the dialect in which its SQL was run, in sqlglot's
words."""

WITHDRAWN_BY = "withdrawn_by"
"""The custom property that names the run which withdrew a relationship or query."""

EVIDENCE = "evidence"
"""The custom property of a relationship that tells in words what speaks for the join."""

COPIED = "copied_decision"
"""The detail of a tag's attribution that marks a decision which people made elsewhere, such as in
the file of decisions. The tag is no decision of its own."""

REPLACED_BY, REPLACED_WHEN = "replaced_decision_by", "replaced_decision_when"
"""The details of such a tag that keep an earlier decision on the relationship."""

_BAND, _ROLE = "band", "role"
_CROSSWALK = ("source_crosswalk_column", "destination_crosswalk_column")
_SIDES = {"left": "source", "right": "destination"}
_NAMES = {"shared": "shared_values", "rows": "joined_rows"}
"""The names of measures in custom properties that are not those of the fields."""

_COUNTS = {
    side: {
        "total": f"{end}_rows",
        "filled": f"{end}_rows_with_value",
        "matched": f"{end}_rows_with_partner",
    }
    for side, end in _SIDES.items()
}
"""The custom properties that store `RowCounts`, by side and field."""

_MEASURES = tuple(each for each in fields(Evidence) if each.name != "cardinality")
"""All fields of the evidence that have no place of their own in DataHub's relationship."""

_IN_TAG = ("left_fan_out", "right_fan_out", "left_containment", "right_containment")
"""The measures that a tag's text has always, unknown ones as null."""

_ALSO_IN_TAG = tuple(
    name
    for name in (each.name for each in _MEASURES)
    if name not in {*_IN_TAG, "shared", "rows", "compared_as"}
)
"""The measures that a tag's text has if they are known."""

_Pairs = tuple[tuple[ColumnId, ColumnId], ...]
_Crosswalk = tuple[ColumnId, ColumnId]


def oriented(join: Join) -> Join:
    """Return a join with the relationship's source table on the left."""
    forward = (
        _left_is_source(join.pairs) if join.referenced is None else join.referenced == join.right
    )
    return join if forward else join.reversed


def _left_is_source(pairs: Sequence[Pair]) -> bool:
    """Return whether the left table is the source of a relationship without a direction."""
    left, right = pairs[0]
    return dataset_urn(left.table) > dataset_urn(right.table)


def _plain(column: ColumnId) -> ColumnId:
    path = plain_path(column.path)
    # Most paths are plain, and a copy takes longer than the comparison.
    return column if path == column.path else ColumnId(column.table, path)


def _name(pairs: _Pairs) -> str:
    return " and ".join(
        " = ".join(f"{column.table}.{plain_path(column.path)}" for column in pair) for pair in pairs
    )


def join_urn(join: Join) -> str:
    """Return the URN of a join's relationship, which is the same in every run."""
    return columns_urn(join.pairs)


def columns_urn(columns: Sequence[Pair]) -> str:
    """Return the URN of the relationship that joins the given pairs of columns."""
    # People's decisions are attached to the URN, so it depends on the columns only: neither on the
    # direction of the join nor on the order of a composite key.
    return _columns_urn(tuple(columns))


@lru_cache(maxsize=KEPT_URNS)
def _columns_urn(columns: _Pairs) -> str:
    # Field paths that contain types would sort in another order.
    pairs = in_order((_plain(left), _plain(right)) for left, right in columns)
    if not _left_is_source(pairs):
        pairs = tuple(sorted((right, left) for left, right in pairs))
    source, destination = pairs[0]
    return relationship_urn(
        source=dataset_urn(source.table),
        destination=dataset_urn(destination.table),
        name=_name(tuple(pairs)),
    )


def catalog_evidence(columns: Sequence[Pair], facts: CatalogFacts) -> CatalogEvidence:
    """Return the catalog evidence of a single-column or composite join."""
    # A decision about a composite join concerns this join only: none of its pairs, and no other
    # join that contains them.
    if len(columns) == 1:
        return facts.of(pair_of(*columns[0]))
    if not facts.composites:
        return CatalogEvidence()
    names = facts.spellings
    urn = columns_urn([(names.get(left, left), names.get(right, right)) for left, right in columns])
    return facts.composites.get(urn, CatalogEvidence())


def catalog_join(join: Join) -> Join:
    """Return a join of a run as DataHub would return it.

    Programs without a server can then search for paths among the joins of a run.

    Args:
        join: The join.
    """
    source = oriented(join)
    return replace(
        source,
        left=_plain(source.left),
        right=_plain(source.right),
        joinability=round(join.joinability, SCORE_DIGITS),
        evidence=source.evidence and _rounded(source.evidence),
        referenced=join.referenced and _plain(join.referenced),
        further=tuple((_plain(left), _plain(right)) for left, right in source.further),
        published=Published(urn=join_urn(join), name=_name(source.pairs), band=join.band),
    )


def _rounded(evidence: Evidence) -> Evidence:
    measures: dict[str, Any] = {name: _in_tag(evidence, name) for name in _IN_TAG}
    return replace(evidence, **measures)


def _in_tag(evidence: Evidence, name: str) -> float:
    """Round a measure; a containment is then 1 only if all values match."""
    measure: float = getattr(evidence, name)
    is_share = name.endswith("containment")
    return rounded_share(measure) if is_share else round(measure, SCORE_DIGITS)


def to_aspect(join: Join, model_version: str) -> "ERModelRelationshipPropertiesClass":
    """Build the relationship aspect of a join, with its evidence."""
    # Without a timestamp, so that runs with equal results write equal aspects.
    from datahub.metadata.schema_classes import (  # noqa: PLC0415 (a run without DataHub needs none)
        ERModelRelationshipPropertiesClass,
        RelationshipFieldMappingClass,
    )

    source = oriented(join)
    return ERModelRelationshipPropertiesClass(
        name=_name(source.pairs),
        source=dataset_urn(source.left.table),
        destination=dataset_urn(source.right.table),
        relationshipFieldMappings=[
            RelationshipFieldMappingClass(sourceField=one.path, destinationField=other.path)
            for one, other in source.pairs
        ],
        cardinality=source.cardinality.value,
        customProperties=_custom_properties(source, model_version),
    )


def _custom_properties(join: Join, model_version: str) -> dict[str, str]:
    """Return the custom properties of a join whose left table is the relationship's source."""
    evidence = join.evidence
    how = f"{evidence.compared_as or 'values'} compared on the data" if evidence else NOT_VERIFIED
    known = [how, *join.catalog.descriptions]
    if join.namesakes and join.referring and join.referenced:
        known.append(join.namesakes.describe(join.referring, join.referenced))
    return {
        "joinability": f"{join.joinability:.{SCORE_DIGITS}f}",
        _BAND: join.band,
        _ROLE: join.role.value,
        **dict(_measured_properties(evidence) if evidence else ()),
        EVIDENCE: "; ".join(known),
        **(dict(zip(_CROSSWALK, map(column_urn, join.via), strict=True)) if join.via else {}),
        MODEL_VERSION: model_version,
    }


def _stored_as(name: str) -> str:
    """Return the name under which DataHub stores a field of the evidence.

    >>> _stored_as("left_fan_out"), _stored_as("shared"), _stored_as("compared_as")
    ('source_fan_out', 'shared_values', 'compared_as')
    """
    side, _, rest = name.partition("_")
    return _NAMES.get(name) or (f"{_SIDES[side]}_{rest}" if side in _SIDES else name)


_STORED = tuple((each, _stored_as(each.name), each.name.partition("_")[0]) for each in _MEASURES)


def _measured_properties(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the custom properties that store the measurements of a join."""
    for field, name, side in _STORED:
        value = getattr(evidence, field.name)
        if field.type is float:
            yield name, f"{value:.{SCORE_DIGITS}f}"
        elif isinstance(value, RowCounts):
            counts = ((key, getattr(value, count)) for count, key in _COUNTS[side].items())
            yield from ((key, str(number)) for key, number in counts if number is not None)
        elif value != field.default or field.name == "rows":
            yield name, str(value)


def _read_measures(properties: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each measure, or the default of one that is not stored."""
    for field, name, side in _STORED:
        if isinstance(field.type, type):
            known = name in properties or field.default is MISSING
            yield field.name, field.type(properties[name]) if known else field.default
        else:
            yield field.name, _stored_counts(properties, _COUNTS[side])


def _stored_counts(properties: Mapping[str, str], keys: Mapping[str, str]) -> RowCounts | None:
    known = {name: int(properties[key]) for name, key in keys.items() if key in properties}
    if "total" not in known or "filled" not in known:
        return None
    return RowCounts(total=known["total"], filled=known["filled"], matched=known.get("matched"))


def is_ours(aspect: "ERModelRelationshipPropertiesClass") -> bool:
    """Return whether this package wrote a relationship and nobody has edited it since."""
    stamp = aspect.lastModified
    if MODEL_VERSION not in aspect.customProperties or (stamp and stamp.actor != AUTHOR):
        return False
    with suppress(InvalidUrnError):
        return aspect.name == _name(_mapped(aspect))
    return False


def pairs_in(aspect: "ERModelRelationshipPropertiesClass") -> tuple[Pair, ...]:
    """Return the pairs of columns that a relationship joins, in the order of `in_order`."""
    return in_order(_mapped(aspect))


def _mapped(aspect: "ERModelRelationshipPropertiesClass") -> _Pairs:
    """Return the column pairs of a relationship, each with the source table's column first."""
    source, destination = table_id(aspect.source), table_id(aspect.destination)
    fields = ((it.sourceField, it.destinationField) for it in aspect.relationshipFieldMappings)
    return tuple(
        (ColumnId(source, plain_path(one)), ColumnId(destination, plain_path(other)))
        for one, other in fields
    )


def from_aspect(aspect: "ERModelRelationshipPropertiesClass") -> Join | None:
    """Convert a relationship to a join of a run; None if it is not ours, or cannot be parsed."""
    if not is_ours(aspect) or not aspect.relationshipFieldMappings:
        return None
    (left, right), *further = _mapped(aspect)
    properties = aspect.customProperties
    try:
        role = Role(properties.get(_ROLE, Role.SAME_DOMAIN.value))
        evidence = None
        if properties.get(_BAND) != UNVERIFIED:
            measures = dict(_read_measures(properties))
            evidence = Evidence(cardinality=Cardinality(aspect.cardinality), **measures)
        join = Join(
            left=left,
            right=right,
            joinability=float(properties["joinability"]),
            evidence=evidence,
            role=role,
            referenced=right if role.is_directed else None,
            further=tuple(further),
            via=_read_crosswalk([properties[name] for name in _CROSSWALK if name in properties]),
        )
    except (KeyError, ValueError, InvalidUrnError):
        return None
    return join if left <= right else join.reversed


def _read_crosswalk(urns: Sequence[str]) -> _Crosswalk | None:
    """Read the two crosswalk columns, that of the source first; None if there are not two."""
    if len(urns) != len(_CROSSWALK):
        return None
    source, destination = map(column_id, urns)
    return source, destination


def tag_context(join: Join) -> str:
    """Return the facts about a join that the tag of its role stores, as compact JSON."""
    source = oriented(join)
    evidence = source.evidence
    facts: dict[str, object] = {
        _stored_as(name): _in_tag(evidence, name) if evidence else None for name in _IN_TAG
    }
    facts |= {
        _stored_as(name): value for name in _ALSO_IN_TAG if (value := _plain_value(evidence, name))
    }
    facts["declared"] = join.catalog.is_declared
    if evidence and source.compared_as:
        facts["compared_as"] = source.compared_as
    if evidence and source.via:
        facts["via"] = [column_urn(column) for column in source.via]
    return json.dumps(facts, separators=(",", ":"))


def read_tag_context(
    text: str, cardinality: Cardinality
) -> tuple[Evidence | None, bool, _Crosswalk | None]:
    """Read the evidence, whether the catalog declares the join, and the crosswalk from a tag."""
    # Nothing is read of a tag that a person or another version of this package set.
    try:
        facts: Any = json.loads(text)
        if not isinstance(facts, dict):
            return None, False, None
        declared, via = facts.get("declared") is True, None
        if facts.get("via") is not None:
            source, destination = (column_id(str(urn)) for urn in facts["via"])
            via = source, destination
        return _read_tag_evidence(facts, cardinality), declared, via
    except (InvalidUrnError, KeyError, TypeError, ValueError):
        return None, False, None


def _read_tag_evidence(facts: Mapping[str, Any], cardinality: Cardinality) -> Evidence | None:
    measures: dict[str, Any] = {name: facts[_stored_as(name)] for name in _IN_TAG}
    also: dict[str, Any] = {
        name: _read_counts(value) if name.endswith("_counts") else value
        for name in _ALSO_IN_TAG
        if (value := facts.get(_stored_as(name)))
    }
    if all(measure is None for measure in measures.values()):
        return None
    also |= {name: float(measure) for name, measure in measures.items()}
    compared_as = str(facts.get("compared_as", ""))
    return Evidence(shared=-1, cardinality=cardinality, compared_as=compared_as, **also)


def _read_counts(counts: Mapping[str, Any]) -> RowCounts:
    matched = None if counts["matched"] is None else int(counts["matched"])
    return RowCounts(total=int(counts["total"]), filled=int(counts["filled"]), matched=matched)


def join_as_json(join: Join) -> dict[str, Any]:
    """Return a join of the catalog for JSON. The keys never change, because scripts rely on them.

    The measures have the names of their fields, which are null if they are unknown.
    """
    published, evidence = join.published or Published(), join.evidence
    left, right = join.via or (None, None)
    return {
        "urn": published.urn,
        "name": published.name,
        "columns": [{"left": _as_end(one), "right": _as_end(other)} for one, other in join.pairs],
        "cardinality": join.cardinality.value,
        "joinability": join.score,
        "band": join.band or None,
        "decision": join.verdict.value if join.verdict else None,
        "hidden": join.is_hidden,
        "description": published.description or None,
        "owners": list(published.owners),
        "role": join.role.value if join.known_role else None,
        "referenced": _as_end(join.referenced) if join.referenced else None,
        "declared": join.catalog.is_declared,
        **{name: _plain_value(evidence, name) for name in (*_IN_TAG, *_ALSO_IN_TAG)},
        "compared_as": join.compared_as or None,
        "crosswalk": {"dataset": dataset_urn(left.table), "left": left.path, "right": right.path}
        if left and right
        else None,
    }


def _plain_value(evidence: Evidence | None, name: str) -> object:
    """Return a measure for JSON; None if it is unknown."""
    value = getattr(evidence, name, None)
    return asdict(value) if isinstance(value, RowCounts) else value


def _as_end(column: ColumnId) -> dict[str, str]:
    return {"dataset": dataset_urn(column.table), "column": column.path}
