"""Decide whether a patch would change an aspect.

The values that our patches name are read from the typed aspect, each under the path that a patch
gives it. A patch leaves an aspect unchanged if its operations leave these values as they are.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from avrogen.dict_wrapper import DictWrapper
from datahub.emitter.serialization_helper import pre_json_transform
from datahub.metadata.schema_classes import (
    GlobalTagsClass,
    GlossaryTermsClass,
    StatusClass,
    StructuredPropertiesClass,
    UpstreamClass,
    UpstreamLineageClass,
    _Aspect,
)

from datahub_hyperjoin.emit.patches import (
    INSTRUCTIONS_PATH,
    JOINABLE,
    STAMP_PATH,
    Change,
    edge_path,
    property_path,
    tag_path,
    term_path,
    upstream_path,
)
from datahub_hyperjoin.metadata.relationship_aspect import MODEL_VERSION
from datahub_hyperjoin.metadata.urns import AUTHOR

_Values = Mapping[str, Any]

_FORM = ("properties", "query")
"""Fields that determine how DataHub draws a lineage edge between two tables."""
_TABLE_EDGE, _COLUMN_EDGE = "/upstreams/", f"/fineGrainedLineages/{JOINABLE}/"
_PATH = re.compile(
    rf"/removed|{STAMP_PATH}|{INSTRUCTIONS_PATH}|(/tags//|/terms//|/properties/|{_TABLE_EDGE}|{_COLUMN_EDGE}[^/]+/NONE/)[^/]+"
)
_STAMPS = ("created", "lastModified")


def without_timestamps(part: DictWrapper) -> dict[str, Any]:
    """Convert an aspect to JSON without its timestamps.

    The version of the model is left out, too: the aspect keeps that of the run which changed it.
    """
    fields = pre_json_transform(part.to_obj())
    timeless_fields = {name: value for name, value in fields.items() if name not in _STAMPS}
    custom = fields.get("customProperties") or {}
    if MODEL_VERSION in custom:
        timeless_fields["customProperties"] = {**custom, MODEL_VERSION: ""}
    return timeless_fields


def is_comparable(changes: Iterable[Change]) -> bool:
    """Return whether the function `leaves_unchanged` can decide if a patch would change an aspect.

    It can if it knows every path in the patch.
    """
    return all(_PATH.fullmatch(change["path"]) for change in changes)


def leaves_unchanged(aspect: _Aspect | None, changes: Iterable[Change]) -> bool:
    """Return whether a patch would leave an aspect unchanged.

    Args:
        aspect: The current aspect; None if the entity has none.
        changes: The operations of a patch for which `is_comparable` holds.
    """
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
    """Return the values of an aspect that this package's patches can set or remove.

    Tags that another program attributes to itself have keys of their own, and column edges of
    other operations or queries belong to other sources.
    """
    match aspect:
        case StatusClass():
            return {"/removed": aspect.removed}
        case GlobalTagsClass():
            tags = (tag for tag in aspect.tags if not (tag.attribution and tag.attribution.source))
            return {tag_path(tag.tag): without_timestamps(tag) for tag in tags}
        case GlossaryTermsClass():
            terms = (it for it in aspect.terms if not (it.attribution and it.attribution.source))
            return {term_path(term.urn): without_timestamps(term) for term in terms}
        case StructuredPropertiesClass():
            return {
                property_path(value.propertyUrn): without_timestamps(value)
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
            # Of the instructions for agents, older clients have no class.
            text = getattr(aspect, "instructions", None)
            return {INSTRUCTIONS_PATH: text} if text else {}


def _settle(values: _Values) -> _Values:
    """Convert values to the form in which the server stores them.

    The server stores one confidence for all edges into a column: the lowest of them, in single
    precision.
    """
    lowest: dict[str, float] = {}
    for path, value in values.items():
        if path.startswith(_COLUMN_EDGE):
            column = path.rpartition("/")[0]
            score = float(np.float32(value["confidenceScore"]))
            lowest[column] = min(score, lowest.get(column, 1.0))
    return {path: lowest.get(path.rpartition("/")[0], value) for path, value in values.items()}


def drop_foreign(lineage: _Aspect | None, changes: Iterable[Change]) -> list[Change]:
    """Drop lineage changes that would overwrite or remove an edge that others wrote.

    Only edges between datasets are checked. An existing edge has the meaning of ours, so one of
    ours is overwritten only if DataHub would draw it otherwise. A connector may have written its
    own edge in the same position since the last run.
    """
    upstreams = lineage.upstreams if isinstance(lineage, UpstreamLineageClass) else ()
    present = {upstream_path(edge.dataset): edge for edge in upstreams}
    return [
        change
        for change in changes
        if not change["path"].startswith(_TABLE_EDGE)
        or _is_ours_to_change(present.get(change["path"]), change)
    ]


def _is_ours_to_change(edge: UpstreamClass | None, change: Change) -> bool:
    if edge is None:
        return change["op"] != "remove"
    if edge.auditStamp.actor != AUTHOR:
        return False
    value = change["value"]
    return change["op"] == "remove" or any(
        (getattr(edge, name) or None) != (value.get(name) or None) for name in _FORM
    )


def is_patchable(lineage: _Aspect | None) -> bool:
    """Return whether the server can patch a dataset's lineage.

    Each edge between columns must lead to exactly one column.
    """
    edges = lineage.fineGrainedLineages if isinstance(lineage, UpstreamLineageClass) else None
    return all(len(edge.downstreams or ()) == 1 for edge in edges or ())
