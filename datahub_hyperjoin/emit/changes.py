"""Send only the metadata that changes something in DataHub.

Every run produces all of its metadata again. Each proposal is compared with what the server holds
now, rather than with what the last run wrote: a write that was lost is repeated, and a property
that somebody removed is set again. A run without news writes nothing, so nothing looks newer than
it is, and an entity that a person hid keeps that person's name on it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from avrogen.dict_wrapper import DictWrapper
from datahub.emitter.aspect import ASPECT_MAP, TIMESERIES_ASPECT_MAP
from datahub.emitter.serialization_helper import pre_json_transform
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    KEY_ASPECTS,
    ChangeTypeClass,
    DocumentInfoClass,
    GlobalTagsClass,
    GlossaryTermAssociationClass,
    GlossaryTermsClass,
    MetadataChangeEventClass,
    QueryPropertiesClass,
    StatusClass,
    StructuredPropertiesClass,
    TagAssociationClass,
    UpstreamLineageClass,
    _Aspect,
)
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.entities import batches, by_type
from datahub_hyperjoin.catalog.versions import SemanticModelInfo, instructions_in
from datahub_hyperjoin.client_errors import UNREADABLE, explain
from datahub_hyperjoin.emit.lineage import drop_foreign, is_patchable
from datahub_hyperjoin.emit.patches import (
    INSTRUCTIONS_PATH,
    JOINABLE,
    STAMP_PATH,
    Change,
    edge_path,
    hides,
    property_path,
    read_changes,
    tag_path,
    term_path,
    upstream_path,
    with_changes,
)
from datahub_hyperjoin.metadata.relationships import MODEL_VERSION
from datahub_hyperjoin.progress import Count, Warn

# The values that our patches name are read from the typed aspect, each under the path that a patch
# gives it. A patch leaves an aspect unchanged if its operations leave these values as they are.

_Values = Mapping[str, Any]

_TABLE_EDGE, _COLUMN_EDGE = "/upstreams/", f"/fineGrainedLineages/{JOINABLE}/"
_PATH = re.compile(
    rf"/removed|{STAMP_PATH}|{INSTRUCTIONS_PATH}|(/tags//|/terms//|/properties/|{_TABLE_EDGE}|{_COLUMN_EDGE}[^/]+/NONE/)[^/]+"
)
_STAMPS = ("created", "lastModified")


def _without_timestamps(part: DictWrapper) -> dict[str, Any]:
    """Convert an aspect to JSON without its timestamps."""
    # The version of the model is left out, too: the aspect keeps that of the run which
    # changed it.
    fields = pre_json_transform(part.to_obj())
    timeless_fields = {name: value for name, value in fields.items() if name not in _STAMPS}
    custom = fields.get("customProperties") or {}
    if MODEL_VERSION in custom:
        timeless_fields["customProperties"] = {**custom, MODEL_VERSION: ""}
    return timeless_fields


def is_comparable(changes: Iterable[Change]) -> bool:
    """Return whether `leaves_unchanged` can decide if a patch would change an aspect."""
    return all(_PATH.fullmatch(change["path"]) for change in changes)


def leaves_unchanged(aspect: _Aspect | None, changes: Iterable[Change]) -> bool:
    """Return whether a patch would leave an aspect unchanged."""
    present = _values(aspect)
    after = dict(present)
    for change in changes:
        if change["path"] == STAMP_PATH:
            continue
        if change["op"] == "remove":
            after.pop(change["path"], None)
        else:
            after[change["path"]] = change["value"]
    return _settle(after) == _settle(present)


def _values(aspect: _Aspect | None) -> _Values:
    """Return the values of an aspect that this package's patches can set or remove."""
    # Tags that another program attributes to itself have keys of their own, and column edges
    # of other operations or queries belong to other sources.
    match aspect:
        case StatusClass():
            return {"/removed": aspect.removed}
        case GlobalTagsClass():
            tags = filter(_is_unattributed, aspect.tags)
            return {tag_path(tag.tag): _without_timestamps(tag) for tag in tags}
        case GlossaryTermsClass():
            terms = filter(_is_unattributed, aspect.terms)
            return {term_path(term.urn): _without_timestamps(term) for term in terms}
        case StructuredPropertiesClass():
            return {
                property_path(value.propertyUrn): _without_timestamps(value)
                for value in aspect.properties
            }
        case UpstreamLineageClass():
            tables = {upstream_path(edge.dataset): None for edge in aspect.upstreams}
            columns = {
                edge_path(upstream, downstream): {"confidenceScore": edge.confidenceScore}
                for edge in aspect.fineGrainedLineages or ()
                if edge.transformOperation == JOINABLE and not edge.query
                for downstream in edge.downstreams or ()
                for upstream in edge.upstreams or ()
            }
            return tables | columns
        case _:
            text = instructions_in(aspect)
            return {INSTRUCTIONS_PATH: text} if text else {}


def _is_unattributed(label: TagAssociationClass | GlossaryTermAssociationClass) -> bool:
    return not (label.attribution and label.attribution.source)


def _settle(values: _Values) -> _Values:
    # The server stores one confidence for all edges into a column: the lowest of them, in
    # single precision.
    lowest: dict[str, float] = {}
    for path, value in values.items():
        if path.startswith(_COLUMN_EDGE):
            column = path.rpartition("/")[0]
            score = float(np.float32(value["confidenceScore"]))
            lowest[column] = min(score, lowest.get(column, 1.0))
    return {path: lowest.get(path.rpartition("/")[0], value) for path, value in values.items()}


_CHUNK = 500
"""Number of workunits compared at a time, and thus the most entities that one request reads."""

_Target = tuple[str, str]
"""An entity's URN and the name of one of its aspects."""

_DATED = (QueryPropertiesClass, DocumentInfoClass, SemanticModelInfo)
_REVISITED = (StatusClass.ASPECT_NAME, UpstreamLineageClass.ASPECT_NAME)


def keep_changes(
    units: Iterable[MetadataWorkUnit], graph: DataHubGraph, *, count: Count, warn: Warn
) -> Iterator[MetadataWorkUnit]:
    """Yield only the workunits that would change something in DataHub."""
    source, snapshot = iter(units), _ServerSnapshot()
    for chunk in batches(source, _CHUNK):
        try:
            snapshot.read(chunk, graph)
        except UNREADABLE as error:
            warn(
                "Catalog not compared",
                "All metadata is written again, even where the catalog already has it",
                explain(error, graph.config.token),
            )
            yield from _without_ghosts(chain(chunk, source), graph)
            return
        for unit in chunk:
            kept = snapshot.drop_unchanged(unit)
            if kept:
                yield kept
            else:
                count("unchanged_aspects", 1)
    if snapshot.unpatchable:
        warn(
            "Lineage not written",
            "DataHub cannot patch a dataset's lineage if one of its edges leads to several columns",
            ", ".join(sorted(snapshot.unpatchable)),
        )


def find_changes(units: Sequence[MetadataWorkUnit], graph: DataHubGraph) -> list[MetadataWorkUnit]:
    """Return the workunits that would change something in DataHub now."""
    found: list[MetadataWorkUnit] = []
    for chunk in batches(units, _CHUNK):
        snapshot = _ServerSnapshot()
        snapshot.read(chunk, graph)
        found += [
            one
            for one in chunk
            if snapshot.drop_unchanged(one) or one.get_urn() in snapshot.unpatchable
        ]
    return found


def _without_ghosts(
    units: Iterable[MetadataWorkUnit], graph: DataHubGraph
) -> Iterator[MetadataWorkUnit]:
    """Drop the workunits that would hide (soft-delete) an entity that does not exist."""
    # A workunit is also dropped if nobody knows whether its entity exists.
    for unit in units:
        try:
            if hides(unit) and not graph.exists(unit.get_urn()):
                continue
        except UNREADABLE:
            continue
        yield unit


def _target(unit: MetadataWorkUnit) -> _Target | None:
    proposal = unit.metadata
    if isinstance(proposal, MetadataChangeEventClass):
        return None
    urn, name = proposal.entityUrn, proposal.aspectName
    known = name in ASPECT_MAP and name not in TIMESERIES_ASPECT_MAP
    return (urn, name) if urn and name and known else None


class _ServerSnapshot:
    """The server's current aspects, and the changes that the run has already sent."""

    def __init__(self) -> None:
        self.unpatchable: set[str] = set()
        self._aspects: dict[_Target, _Aspect] = {}
        self._entities: set[str] = set()
        self._sent: dict[_Target, Any] = {}
        self._lineage: dict[_Target, dict[str, Change]] = defaultdict(dict)

    def read(self, units: Sequence[MetadataWorkUnit], graph: DataHubGraph) -> None:
        """Read the aspects that workunits would change."""
        targets = [target for unit in units if (target := _target(unit))]
        names: dict[str, set[str]] = defaultdict(set)
        for urn, name in targets:
            names[guess_entity_type(urn)].add(name)
        # A run may write these two again much later, and the server may not show the first write by
        # then. The others are forgotten, because a first run writes too many to keep.
        self._sent = {
            target: sent for target, sent in self._sent.items() if target[1] in _REVISITED
        }
        self._aspects.clear()
        for entity_type, members in by_type(urn for urn, _ in targets).items():
            # An entity that has none of the other aspects has its key.
            wanted = sorted({*names[entity_type], KEY_ASPECTS[entity_type].ASPECT_NAME})
            for urn, aspects in graph.get_entities(entity_type, members, wanted).items():
                self._entities.add(urn)
                self._aspects.update({(urn, name): held for name, (held, _) in aspects.items()})
        # An answer may be incomplete. What is not hidden now is never hidden, so ask once more.
        hidden = {unit.get_urn() for unit in units if hides(unit)}
        self._entities.update(urn for urn in hidden - self._entities if graph.exists(urn))

    def drop_unchanged(self, unit: MetadataWorkUnit) -> MetadataWorkUnit | None:
        """Return the workunit to send, or None if sending it would change nothing."""
        target, proposal = _target(unit), unit.metadata
        if target is None or isinstance(proposal, MetadataChangeEventClass):
            return unit
        aspect, present = proposal.aspect, self._aspects.get(target)
        changes = read_changes(proposal)
        if changes is not None:
            return self._patch(unit, target, changes) if is_comparable(changes) else unit
        if not isinstance(aspect, _Aspect):
            return unit
        written = _without_timestamps(aspect)
        create = proposal.changeType == ChangeTypeClass.CREATE
        same = present is not None and (create or _without_timestamps(present) == written)
        if not self._record_if_changed(target, written, unchanged=same):
            return None
        if isinstance(aspect, _DATED) and isinstance(present, _DATED):
            # A query, document or semantic model that changes keeps the time of its creation.
            aspect.created = present.created
        return unit

    def _patch(
        self, unit: MetadataWorkUnit, target: _Target, changes: list[Change]
    ) -> MetadataWorkUnit | None:
        (urn, name), present, wanted = target, self._aspects.get(target), changes
        if name == StatusClass.ASPECT_NAME:
            present = present or StatusClass(removed=False)
            if urn not in self._entities and hides(unit):
                return None  # Hiding an entity that does not exist would create it.
        if name == UpstreamLineageClass.ASPECT_NAME:
            if not is_patchable(present):
                self.unpatchable.add(urn)
                return None
            # The server keeps only the lowest confidence of the edges into a column. A patch that
            # removes the lowest has to set the others again, so it repeats the earlier changes.
            self._lineage[target] |= {change["path"]: change for change in changes}
            wanted = drop_foreign(present, self._lineage[target].values())
        if not self._record_if_changed(target, wanted, unchanged=leaves_unchanged(present, wanted)):
            return None
        return unit if wanted == changes else with_changes(unit, wanted)

    def _record_if_changed(self, target: _Target, written: object, *, unchanged: bool) -> bool:
        """Record a write as sent if it changes something, and return whether it does."""
        # `unchanged` says whether the server's aspect has the written content. After a
        # write the snapshot is out of date. From then on, a write is compared with the
        # last one sent.
        changed = self._sent[target] != written if target in self._sent else not unchanged
        if changed:
            self._sent[target] = written
            self._entities.add(target[0])
        return changed
