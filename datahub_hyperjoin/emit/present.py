"""What the catalog holds of what a run writes, and which of the writes would change it."""

import copy
import dataclasses
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datahub.emitter.aspect import ASPECT_MAP, JSON_PATCH_CONTENT_TYPE, TIMESERIES_ASPECT_MAP
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.serialization_helper import pre_json_transform
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    KEY_ASPECTS,
    AuditStampClass,
    ChangeTypeClass,
    GenericAspectClass,
    MetadataChangeProposalClass,
    QueryPropertiesClass,
    StatusClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.emit.edges import patchable, trim_edges
from datahub_hyperjoin.emit.keyed import Change, Document, trim

Proposal = MetadataChangeProposalWrapper | MetadataChangeProposalClass
"""What a workunit carries; older forms are not compared."""

Target = tuple[str, str]
"""An entity's urn and the name of an aspect."""

_REVISITED = (StatusClass.ASPECT_NAME, UpstreamLineageClass.ASPECT_NAME)
_TIMES = ("created", "lastModified")


def target(proposal: object) -> Target | None:
    """What a proposal changes; None if that cannot be compared.

    Args:
        proposal: A workunit's metadata.
    """
    if not isinstance(proposal, Proposal) or not proposal.entityUrn or not proposal.aspectName:
        return None
    name = proposal.aspectName
    comparable = name in ASPECT_MAP and name not in TIMESERIES_ASPECT_MAP
    return (proposal.entityUrn, name) if comparable else None


@dataclass
class ServerSnapshot:
    """What the catalog holds, as far as it was read, and what was let through since."""

    entities: set[str] = field(default_factory=set)
    """Urns of what exists."""

    aspects: dict[Target, Document] = field(default_factory=dict)
    """As JSON."""

    revisited: dict[Target, Document] = field(default_factory=dict)
    """Changed aspects that a run may change again much later, when the server need not show the
    first change yet."""

    held: dict[Target, list[Change]] = field(default_factory=lambda: defaultdict(list))
    """Changes of lineage that were held back: removing another edge later can make them count."""

    unpatchable: set[str] = field(default_factory=set)
    """Datasets whose lineage the server cannot patch, and that should have been."""

    def read(self, units: Sequence[MetadataWorkUnit], graph: DataHubGraph) -> None:
        """Reads everything that some workunits change, one request for each type of entity.

        Args:
            units: The workunits.
            graph: The catalog.
        """
        urns: dict[str, dict[str, None]] = defaultdict(dict)
        names: dict[str, set[str]] = defaultdict(set)
        for unit in units:
            place, proposal = target(unit.metadata), unit.metadata
            if place and isinstance(proposal, Proposal):
                urns[proposal.entityType][place[0]] = None
                names[proposal.entityType].add(place[1])
        self.aspects.clear()
        for entity, own in urns.items():
            # What has no other aspect yet has its key.
            asked = {*names[entity], KEY_ASPECTS[entity].ASPECT_NAME}
            for urn, aspects in graph.get_entities(entity, list(own), sorted(asked)).items():
                self.entities.add(urn)
                for name, (aspect, _) in aspects.items():
                    self.aspects[urn, name] = pre_json_transform(aspect.to_obj())
        self.aspects.update(self.revisited)

    def admit(self, proposal: Proposal, place: Target) -> Proposal | None:
        """A proposal as it is to be sent, which is taken as done; None if it changes nothing.

        Args:
            proposal: The proposal.
            place: What it changes.
        """
        if proposal.changeType == ChangeTypeClass.PATCH:
            return self._patch(proposal, place)
        if isinstance(proposal, MetadataChangeProposalClass):
            return proposal
        if proposal.changeType == ChangeTypeClass.CREATE and place in self.aspects:
            return None
        return self._replace(proposal, place)

    def _replace(
        self, proposal: MetadataChangeProposalWrapper, place: Target
    ) -> MetadataChangeProposalWrapper | None:
        aspect, present = proposal.aspect, self.aspects.get(place)
        if aspect is None:
            return proposal
        proposed = pre_json_transform(aspect.to_obj())
        if isinstance(aspect, StatusClass):
            return proposal if self._hide(place, {**(present or {}), **proposed}) else None
        if isinstance(aspect, QueryPropertiesClass) and present:
            if _timeless(present) == _timeless(proposed):
                return None
            aspect = copy.deepcopy(aspect)
            aspect.created = AuditStampClass.from_obj(present["created"])
            proposal = dataclasses.replace(proposal, aspect=aspect)
        elif present == proposed:
            return None
        self._keep(place, proposed)
        return proposal

    def _patch(self, proposal: Proposal, place: Target) -> Proposal | None:
        patch = _read_patch(proposal)
        if patch is None:
            return proposal
        present = self.aspects.get(place, {})
        if place[1] == StatusClass.ASPECT_NAME:
            kept, after = trim({"removed": False, **present}, patch.changes, patch.keys)
            return proposal if kept and self._hide(place, after) else None
        if place[1] == UpstreamLineageClass.ASPECT_NAME and not patch.keys:
            if not patchable(present):
                self.unpatchable.add(place[0])
                return None
            changes = [*self.held[place], *patch.changes]
            kept, after = trim_edges(present, changes)
            self.held[place] = [change for change in changes if change not in kept]
        else:
            kept, after = trim(present, patch.changes, patch.keys)
        if not kept:
            return None
        self._keep(place, after)
        return proposal if kept == patch.changes else patch.write(proposal, kept)

    def _hide(self, place: Target, status: Document) -> bool:
        """Whether a status changes something; what does not exist cannot be hidden."""
        present = self.aspects.get(place, {})
        removed = bool(status.get("removed"))
        if removed == bool(present.get("removed")) or (removed and place[0] not in self.entities):
            return False
        self._keep(place, status)
        return True

    def _keep(self, place: Target, document: Document) -> None:
        self.entities.add(place[0])
        self.aspects[place] = document
        if place[1] in _REVISITED:
            self.revisited[place] = document


@dataclass(frozen=True)
class _Patch:
    keys: Mapping[str, Sequence[str]]
    changes: Sequence[Change]

    def write(self, proposal: Proposal, kept: Sequence[Change]) -> Proposal:
        """The proposal with fewer changes."""
        payload = {"arrayPrimaryKeys": self.keys, "patch": kept} if self.keys else kept
        fewer = copy.deepcopy(proposal)
        fewer.aspect = GenericAspectClass(
            value=json.dumps(payload).encode(), contentType=JSON_PATCH_CONTENT_TYPE
        )
        return fewer


def _read_patch(proposal: Proposal) -> _Patch | None:
    """The changes of a patch; None if its aspect is one whose patches we do not know."""
    aspect = proposal.aspect
    if not isinstance(aspect, GenericAspectClass):
        return None
    payload: Any = json.loads(aspect.value)
    if isinstance(payload, dict):
        return _Patch(payload["arrayPrimaryKeys"], payload["patch"])
    return _Patch({}, payload) if proposal.aspectName in _REVISITED else None


def _timeless(query: Document) -> Document:
    return {name: value for name, value in query.items() if name not in _TIMES}
