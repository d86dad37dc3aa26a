"""Set up a catalog that people, a connector and this source share."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    EditableDatasetPropertiesClass,
    ERModelRelationshipPropertiesClass,
    FineGrainedLineageClass,
    FineGrainedLineageDownstreamTypeClass,
    FineGrainedLineageUpstreamTypeClass,
    GlobalTagsClass,
    RelationshipFieldMappingClass,
    StatusClass,
    TagAssociationClass,
    TagPropertiesClass,
    UpstreamClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.graphql import accept, reject
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import Pair, pair_of
from gms import Gms
from lakes.lake import column, describe_folder, table
from lakes.quick_runs import urn_of

PAIRS = tuple(
    pair_of(column(one), column(other))
    for one, other in (
        ("flights.csv.carrier", "airlines.csv.carrier"),
        ("flights.csv.origin", "airports.csv.faa"),
        ("flights.csv.tailnum", "planes.csv.tailnum"),
        ("delays.csv.carrier", "airlines.csv.carrier"),
        ("delays.csv.carrier", "flights.csv.carrier"),
        ("airports.csv.town", "airlines.csv.title"),
        ("planes.csv.maker", "airlines.csv.title"),
        ("airports.csv.town", "planes.csv.maker"),
        ("delays.csv.share", "flights.csv.minutes"),
    )
)
FLIGHTS, AIRLINES, DELAYS = (
    dataset_urn(table(f"{name}.csv")) for name in ("flights", "airlines", "delays")
)
BY_HAND = "urn:li:erModelRelationship:by-hand"
TAG = "urn:li:tag:trusted"
_HIDE = (
    "mutation($urns: [String!]!) { batchUpdateSoftDeleted(input: {urns: $urns, deleted: true}) }"
)
_TYPES = ("dataset", "schemaField", "erModelRelationship", "query", "tag", "structuredProperty")
_OF_MOMENT = {"time", "timestampMillis", "created", "lastModified", "createdOn", "createdAt"}
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Roles:
    """The joins in a series of runs, named after what happens to each join.

    The first run finds all but the last one.
    """

    accepted: Pair
    rejected: Pair
    hidden: Pair
    edited: Pair
    deleted: Pair
    stays: Pair
    late: Pair
    """A join that is rejected only after the first faults."""
    vanishing: Pair
    new: Pair

    @property
    def first(self) -> list[Pair]:
        return [pair for pair in self._all if pair != self.new]

    @property
    def second(self) -> list[Pair]:
        return [pair for pair in self._all if pair != self.vanishing]

    @property
    def _all(self) -> tuple[Pair, ...]:
        return tuple(vars(self).values())


def prepare(gms: Gms, folder: Path) -> None:
    """Write metadata as a connector and people do, before the first run."""
    describe_folder(gms, folder)
    for name in ("flights.csv", "airlines.csv"):
        gms.put(dataset_urn(table(name)), DatasetPropertiesClass(description="by the connector"))
        gms.put(dataset_urn(table(name)), EditableDatasetPropertiesClass(description="by Ada"))
    copied = [column_urn(column(f"{name}.csv.carrier")) for name in ("delays", "flights")]
    flow = FineGrainedLineageClass(
        upstreamType=FineGrainedLineageUpstreamTypeClass.FIELD_SET,
        downstreamType=FineGrainedLineageDownstreamTypeClass.FIELD,
        upstreams=copied[:1],
        downstreams=copied[1:],
        transformOperation="COPY",
    )
    edge = UpstreamClass(dataset=DELAYS, type="COPY")
    gms.put(FLIGHTS, UpstreamLineageClass(upstreams=[edge], fineGrainedLineages=[flow]))
    relationship = ERModelRelationshipPropertiesClass(
        name="by hand",
        source=FLIGHTS,
        destination=AIRLINES,
        relationshipFieldMappings=[RelationshipFieldMappingClass("minutes", "title")],
    )
    gms.put(BY_HAND, relationship)
    gms.put(TAG, TagPropertiesClass(name="trusted"))


def decide(gms: Gms, roles: Roles) -> None:
    """Make people's decisions on joins, one of each kind."""
    graph = gms.graph()
    accept(graph, urn_of(roles.accepted), why="same code")
    reject(graph, urn_of(roles.rejected))
    gms.graphql(_HIDE, urns=[urn_of(roles.hidden)])
    edited = gms.get(urn_of(roles.edited), ERModelRelationshipPropertiesClass)
    assert edited
    edited.name = "so named by Ada"
    gms.put(urn_of(roles.edited), edited)
    gms.delete(urn_of(roles.deleted))
    tags = gms.get(urn_of(roles.stays), GlobalTagsClass) or GlobalTagsClass(tags=[])
    gms.put(urn_of(roles.stays), GlobalTagsClass(tags=[*tags.tags, TagAssociationClass(tag=TAG)]))


def reject_late(gms: Gms, roles: Roles) -> None:
    reject(gms.graph(), urn_of(roles.late))


def others(gms: Gms) -> dict[str, Json]:
    """Return everything in the catalog that belongs to people or to connectors."""
    kept: dict[str, dict[str, Any]] = {urn: dict(gms.aspects(urn)) for urn in gms.urns("dataset")}
    for urn, aspects in kept.items():
        aspects.pop("structuredProperties", None)
        lineage = aspects.pop("upstreamLineage", {})
        if urn == FLIGHTS:
            aspects["flows"] = [
                edge
                for edge in lineage.get("fineGrainedLineages", ())
                if edge["transformOperation"] == "COPY"
            ]
            aspects["copies"] = [edge for edge in lineage["upstreams"] if edge["dataset"] == DELAYS]
    return {**kept, BY_HAND: gms.aspects(BY_HAND), TAG: gms.aspects(TAG)}


def visible(gms: Gms, pair: Pair) -> bool:
    """Return whether people see the relationship of a pair."""
    urn = urn_of(pair)
    status = gms.get(urn, StatusClass)
    found = gms.get(urn, ERModelRelationshipPropertiesClass)
    return bool(found) and not (status and status.removed)


def broken_decisions(gms: Gms, roles: Roles, *, late: bool) -> list[str]:
    """Describe the decisions of people that the catalog no longer reflects."""
    refused = {"rejected": roles.rejected, "hidden": roles.hidden, "deleted": roles.deleted}
    refused |= {"late": roles.late} if late else {}
    lost = [f"the {name} join is shown" for name, pair in refused.items() if visible(gms, pair)]
    edited = gms.get(urn_of(roles.edited), ERModelRelationshipPropertiesClass)
    if not visible(gms, roles.edited) or not edited or edited.name != "so named by Ada":
        lost.append("the edit is gone")
    tags = {pair: gms.get(urn_of(pair), GlobalTagsClass) for pair in (roles.accepted, roles.stays)}
    held = {pair: {tag.tag for tag in found.tags} for pair, found in tags.items() if found}
    if not visible(gms, roles.accepted) or not any(
        "accepted" in tag for tag in held.get(roles.accepted, ())
    ):
        lost.append("the accepted join is gone")
    if TAG not in held.get(roles.stays, ()):
        lost.append("the tag is gone")
    return lost


def shown(gms: Gms) -> dict[str, object]:
    """Return everything that people see of the suggestions, without times."""
    found: dict[str, object] = {}
    for urn in (urn for kind in _TYPES for urn in gms.urns(kind)):
        aspects = gms.aspects(urn)
        if not aspects.get("status", {}).get("removed"):
            # Status is not written where it says nothing new.
            aspects.pop("status", None)
            found |= {f"{urn} {name}": _timeless(value) for name, value in aspects.items()}
    return {key: value for key, value in found.items() if value}


def _timeless(value: object) -> object:
    """Remove times and empty parts from a value, and sort its lists."""
    if isinstance(value, list):
        return sorted(map(_timeless, value), key=repr)
    if isinstance(value, dict):
        kept = {name: _timeless(one) for name, one in value.items() if name not in _OF_MOMENT}
        return {name: kept[name] for name in sorted(kept) if kept[name] not in (None, {}, [])}
    return value


def difference(
    expected: Mapping[str, object], found: Mapping[str, object], *, more: bool = False
) -> str:
    """Describe the first difference between the expected catalog and the actual one.

    With `more`, the catalog may also have what it should not.
    """
    for key in sorted(expected.keys() | found.keys()):
        same = expected.get(key) == found.get(key)
        tolerated = more and (key not in expected or covers(found.get(key), expected[key]))
        if not (same or tolerated):
            return f"{key}: {found.get(key)} instead of {expected.get(key)}"
    return ""


def covers(found: object, expected: object) -> bool:
    """Return whether a value contains everything that is expected.

    It may contain more.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(name in found and covers(found[name], expected[name]) for name in expected)
    if isinstance(expected, list) and isinstance(found, list):
        return all(any(covers(one, wanted) for one in found) for wanted in expected)
    return found == expected
