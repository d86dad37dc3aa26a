"""Test that a patch is skipped if, and only if, it would change nothing."""

from typing import Any

from avrogen.dict_wrapper import DictWrapper
from datahub.emitter.serialization_helper import pre_json_transform
from datahub.metadata.schema_classes import (
    AuditStampClass,
    FineGrainedLineageClass,
    GlobalTagsClass,
    MetadataAttributionClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
    TagAssociationClass,
    UpstreamClass,
    UpstreamLineageClass,
    _Aspect,
)
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.emit.changes import is_comparable, leaves_unchanged
from datahub_hyperjoin.emit.lineage import drop_foreign, is_patchable
from datahub_hyperjoin.emit.patches import (
    Change,
    change_lineage,
    change_tags,
    edge_path,
    read_changes,
    remove_properties,
    set_properties,
    upstream_path,
)
from gms.patch import apply_patch

Patch = list[Change]
OURS, THEIRS = (
    AuditStampClass(time=0, actor=f"urn:li:corpuser:{name}") for name in ("_ingestion", "jdoe")
)
DATASET = "urn:li:dataset:(urn:li:dataPlatform:file,flights,PROD)"
TAGS = {"tags": ["attribution\N{SYMBOL FOR UNIT SEPARATOR}source", "tag"]}
PROPERTIES = {"properties": ["propertyUrn"]}
_NAMES = st.sampled_from(["urn:li:tag:a", "urn:li:tag:b", "urn:li:tag:c/d", "urn:li:tag:e~f"])
_CONTEXTS = st.sampled_from(["x", "y"])
_DATASETS = st.sampled_from(["a", "b", "c"])
_COLUMNS = st.sampled_from(["a.id", "b.id", "c.id"])
_SCORES = st.sampled_from([0.5, 0.75, 1.0])


def as_json(part: DictWrapper) -> dict[str, Any]:
    found: dict[str, Any] = pre_json_transform(part.to_obj())
    return found


def after(name: str, aspect: _Aspect, patch: Patch, keys: dict[str, list[str]]) -> Any:  # noqa: ANN401 - any JSON
    """Return the content of an aspect after a patch, sorted."""
    payload = {"arrayPrimaryKeys": keys, "patch": patch} if keys else [*map(dict, patch)]
    changed: dict[str, Any] = apply_patch(name, as_json(aspect), payload, modern=True)
    return {
        field: sorted(map(repr, map(sorted_parts, elements)))
        for field, elements in changed.items()
        if isinstance(elements, list)
    }


def sorted_parts(element: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(
        (name, sorted(part) if name == "upstreams" else part) for name, part in element.items()
    )


def check(name: str, aspect: _Aspect, patch: Patch, keys: dict[str, list[str]]) -> None:
    assert is_comparable(patch)
    unchanged = after(name, aspect, patch, keys) == after(name, aspect, [], keys)
    assert leaves_unchanged(aspect, patch) == unchanged


def attribution(source: str | None) -> MetadataAttributionClass | None:
    return MetadataAttributionClass(time=0, actor="a", source=source) if source else None


tags = st.builds(
    lambda tag, context, source: TagAssociationClass(tag, context, attribution(source)),
    _NAMES,
    _CONTEXTS,
    st.sampled_from([None, "urn:li:dataHubAction:review"]),
)


def tag_key(tag: TagAssociationClass) -> tuple[str, bool]:
    return tag.tag, bool(tag.attribution)


@given(st.lists(tags, unique_by=tag_key), st.lists(_NAMES, min_size=1, unique=True), _CONTEXTS)
def test_tags(present: list[TagAssociationClass], names: list[str], context: str) -> None:
    unit = change_tags("urn:li:erModelRelationship:1", {names[0]: context}, stale=names[1:])
    check("globalTags", GlobalTagsClass(present), changes_of(unit), TAGS)


def changes_of(unit: Any) -> Patch:  # noqa: ANN401 - a workunit
    changes = read_changes(unit.metadata)
    assert changes is not None
    return changes


values = st.dictionaries(_NAMES, st.lists(_SCORES, min_size=1, max_size=2))


@given(values, values, st.booleans())
def test_properties(
    present: dict[str, list[float]],
    wanted: dict[str, list[float]],
    removes: bool,  # noqa: FBT001 - any value
) -> None:
    aspect = StructuredPropertiesClass(
        [
            StructuredPropertyValueAssignmentClass(propertyUrn=name, values=list(scores))
            for name, scores in present.items()
        ]
    )
    unit = (
        remove_properties(DATASET, list(wanted)) if removes else set_properties(DATASET, {**wanted})
    )
    check("structuredProperties", aspect, changes_of(unit), PROPERTIES)


upstreams = st.builds(
    lambda dataset, stamp: UpstreamClass(dataset=dataset, type="COPY", auditStamp=stamp),
    _DATASETS,
    st.sampled_from([OURS, THEIRS]),
)
edges = st.builds(
    lambda operation, sources, target, score: FineGrainedLineageClass(
        upstreamType="FIELD_SET",
        downstreamType="FIELD",
        transformOperation=operation,
        upstreams=sources,
        downstreams=[target],
        confidenceScore=score,
    ),
    st.sampled_from(["JOINABLE_WITH", "COPY"]),
    st.lists(_COLUMNS, min_size=1, max_size=2, unique=True),
    _COLUMNS,
    _SCORES,
)
lineages = st.builds(
    UpstreamLineageClass,
    st.lists(upstreams, unique_by=lambda edge: edge.dataset),
    st.lists(edges, max_size=3),
)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    value: dict[str, Any]
    if draw(st.booleans()):
        dataset = draw(_DATASETS)
        path, value = upstream_path(dataset), {"dataset": dataset, "auditStamp": OURS.to_obj()}
    else:
        path = edge_path(draw(_COLUMNS), draw(_COLUMNS))
        value = {"confidenceScore": draw(_SCORES)}
    if draw(st.booleans()):
        return {"op": "remove", "path": path, "value": {}}
    return {"op": "add", "path": path, "value": value}


patches = st.lists(changes(), max_size=5, unique_by=lambda change: str(change["path"]))


@given(lineages, patches)
def test_lineage(lineage: UpstreamLineageClass, patch: Patch) -> None:
    check("upstreamLineage", lineage, drop_foreign(lineage, patch), {})


@given(lineages, patches)
def test_foreign_edges_between_datasets_survive(
    lineage: UpstreamLineageClass, patch: Patch
) -> None:
    theirs = [as_json(edge) for edge in lineage.upstreams if edge.auditStamp == THEIRS]
    kept = [*map(dict, drop_foreign(lineage, patch))]
    done = apply_patch("upstreamLineage", as_json(lineage), kept, modern=True)
    assert all(edge in done["upstreams"] for edge in theirs)


@given(lineages, patches)
def test_a_patch_of_lineage_leaves_it_unchanged_the_second_time(
    lineage: UpstreamLineageClass, patch: Patch
) -> None:
    kept = drop_foreign(lineage, patch)
    done = apply_patch("upstreamLineage", as_json(lineage), [*map(dict, kept)], modern=True)
    for edge in done["upstreams"]:
        edge.setdefault("type", "COPY")
    written = UpstreamLineageClass.from_obj(done)
    assert leaves_unchanged(written, drop_foreign(written, patch))


def test_single_precision_is_no_difference() -> None:
    edge = FineGrainedLineageClass(
        upstreamType="FIELD_SET",
        downstreamType="FIELD",
        transformOperation="JOINABLE_WITH",
        upstreams=["a.id"],
        downstreams=["b.id"],
        confidenceScore=0.9312000274658203,
    )
    path = edge_path("a.id", "b.id")
    change = {"op": "add", "path": path, "value": {"confidenceScore": 0.9312}}
    assert leaves_unchanged(UpstreamLineageClass([], [edge]), [change])


def test_a_stamp_of_the_server_is_no_difference() -> None:
    assigned = StructuredPropertyValueAssignmentClass(
        propertyUrn="urn:li:structuredProperty:score", values=[0.9], lastModified=THEIRS
    )
    present = StructuredPropertiesClass([assigned])
    same, other = (
        changes_of(set_properties(DATASET, {assigned.propertyUrn: [score]})) for score in (0.9, 0.8)
    )
    assert leaves_unchanged(present, same)
    assert not leaves_unchanged(present, other)


def test_an_absent_aspect_lacks_every_value() -> None:
    assert not leaves_unchanged(None, changes_of(set_properties(DATASET, {"urn:li:tag:a": [1.0]})))
    assert leaves_unchanged(None, changes_of(remove_properties(DATASET, ["urn:li:tag:a"])))


def test_a_status_is_unchanged_if_it_is_the_same() -> None:
    change = {"op": "add", "path": "/removed", "value": True}
    assert leaves_unchanged(StatusClass(removed=True), [change])
    assert not leaves_unchanged(StatusClass(removed=False), [change])


def test_lineage_with_an_edge_to_several_columns_cannot_be_patched() -> None:
    def lineage(*downstreams: str) -> UpstreamLineageClass:
        edge = FineGrainedLineageClass("FIELD_SET", "FIELD", downstreams=list(downstreams))
        return UpstreamLineageClass([], [edge])

    assert is_patchable(None)
    assert is_patchable(lineage("a"))
    assert not is_patchable(lineage("a", "b"))


def test_only_paths_of_our_patches_are_comparable() -> None:
    assert is_comparable(changes_of(change_lineage(DATASET, [])))
    foreign = ("/upstreams", "/tags/x", "/tags/source/x", "/properties/x/values", "/removed/x")
    assert not any(is_comparable([{"op": "remove", "path": path}]) for path in foreign)
