"""Test that the test double applies patches correctly.

An oracle and DataHub's own patch builders confirm the results.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from datahub.emitter.mcp_patch_builder import MetadataPatchProposal
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    FineGrainedLineageClass,
    GlobalTagsClass,
    MetadataAttributionClass,
    OwnerClass,
    OwnershipClass,
    StatusClass,
    TagAssociationClass,
    UpstreamClass,
    UpstreamLineageClass,
)
from datahub.specific.dataset import DatasetPatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from gms import Gms
from gms.patch import apply_patch
from gms.refusals import Invalid, Malformed

SEPARATOR = "\N{SYMBOL FOR UNIT SEPARATOR}"
KEYS = {"tags": [f"attribution{SEPARATOR}source", "tag"]}
ORDERS, CUSTOMERS = (
    f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.{name},PROD)"
    for name in ("orders", "customers")
)
A, B = "urn:li:tag:a", "urn:li:tag:b/~c"

Json = dict[str, Any]
TAGS = st.sampled_from([A, B, "urn:li:tag:c"])
SOURCES = st.sampled_from(["", "urn:li:dataHubAction:x"])


def quote(step: str) -> str:
    return MetadataPatchProposal.quote(step)


def tag(name: str, source: str = "", context: str = "") -> Json:
    attribution = {"time": 1, "actor": "urn:li:corpuser:x", "source": source}
    return {"tag": name, "context": context, **({"attribution": attribution} if source else {})}


def change(op: str, source: str, name: str, context: str) -> Json:
    path = f"/tags/{quote(source)}/{quote(name)}"
    return {"op": op, "path": path, "value": tag(name, source, context) if op == "add" else {}}


def patch(
    aspect: str, base: Json | None, payload: list[Json] | Json, *, modern: bool = True
) -> Json:
    return apply_patch(aspect, base, payload, modern=modern)


@given(
    stored=st.dictionaries(st.tuples(SOURCES, TAGS), st.text(max_size=2)),
    changes=st.lists(
        st.tuples(st.sampled_from(["add", "remove"]), SOURCES, TAGS, st.text(max_size=2)),
        min_size=1,
        # Removing twice what is there once fails on the real server as well.
        unique_by=lambda it: (it[1], it[2]),
    ),
)
def test_keyed_elements_behave_as_a_dictionary(
    stored: dict[tuple[str, str], str], changes: list[tuple[str, str, str, str]]
) -> None:
    base = {"tags": [tag(name, source, text) for (source, name), text in stored.items()]}
    found = patch(
        "globalTags", base, {"arrayPrimaryKeys": KEYS, "patch": [change(*it) for it in changes]}
    )
    expected = dict(stored)
    for op, source, name, context in changes:
        if op == "add":
            expected[source, name] = context
        else:
            expected.pop((source, name), None)
    seen = {
        (it.get("attribution", {}).get("source", ""), it["tag"]): it["context"]
        for it in found["tags"]
    }
    assert seen == expected
    assert len(found["tags"]) == len(expected)


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3)), st.text(max_size=3))
def test_plain_maps_behave_as_a_dictionary(stored: dict[str, str], key: str) -> None:
    base = {"customProperties": stored, "tags": []}
    path = f"/customProperties/{quote(key)}"
    added = patch("datasetProperties", base, [{"op": "add", "path": path, "value": "x"}])
    assert added["customProperties"] == {**stored, key: "x"}
    removed = patch("datasetProperties", added, [{"op": "remove", "path": path, "value": {}}])
    assert removed["customProperties"] == {it: stored[it] for it in stored if it != key}
    assert base["customProperties"] == stored


@pytest.mark.parametrize(
    ("aspect", "base", "changes", "expected"),
    [
        ("status", None, [("add", "/removed", True)], {"removed": True}),
        ("status", {"removed": True}, [("replace", "/removed", False)], {"removed": False}),
        ("globalTags", None, [("add", f"/tags/{quote(B)}", {"tag": B})], {"tags": [{"tag": B}]}),
        ("globalTags", None, [("remove", "/tags/urn:li:tag:a", {})], {"tags": []}),
        (
            "globalTags",
            {"tags": [tag(A), tag(A, "s")]},
            [("remove", f"/tags/{A}", {})],
            {"tags": []},
        ),
        (
            "globalTags",
            {"tags": [tag(A)]},
            [("add", "/tags", [{"tag": B}])],
            {"tags": [{"tag": B}]},
        ),
        ("globalTags", {"tags": [tag(A)]}, [("remove", "/tags", {})], {"tags": []}),
        ("datasetProperties", {"tags": ["x"]}, [("add", "/tags/y", "y")], {"tags": ["x", "y"]}),
    ],
)
def test_templates(
    aspect: str, base: Json | None, changes: list[tuple[str, str, Any]], expected: Json
) -> None:
    payload = [{"op": op, "path": path, "value": value} for op, path, value in changes]
    found = patch(aspect, base, payload)
    assert {it: found[it] for it in expected} == expected


def test_a_prefix_of_the_keys_removes_all_below() -> None:
    keys = {"properties": ["propertyUrn", f"attribution{SEPARATOR}source"]}
    base = {
        "properties": [{"propertyUrn": "p"}, {"propertyUrn": "p", "attribution": {"source": "s"}}]
    }
    base["properties"].append({"propertyUrn": "q"})
    payload = {"arrayPrimaryKeys": keys, "patch": [{"op": "remove", "path": "/properties/p"}]}
    assert patch("structuredProperties", base, payload) == {"properties": [{"propertyUrn": "q"}]}


def test_earlier_servers_refuse_an_empty_last_key_where_nothing_is() -> None:
    keys = {"properties": ["propertyUrn", f"attribution{SEPARATOR}source"]}
    add = {"op": "add", "path": "/properties/p/", "value": {"propertyUrn": "p", "values": []}}
    payload = {"arrayPrimaryKeys": keys, "patch": [add]}
    expected = {"properties": [{"propertyUrn": "p", "values": []}]}
    assert patch("structuredProperties", None, payload) == expected
    with pytest.raises(Invalid, match="Error performing JSON PATCH on aspect structuredProperties"):
        patch("structuredProperties", None, payload, modern=False)
    there = {"properties": [{"propertyUrn": "p", "values": [1]}]}
    assert patch("structuredProperties", there, payload, modern=False) == expected


def test_elements_get_their_keys_back_from_modern_servers_only() -> None:
    deep = {"op": "add", "path": f"/tags/{A}/context", "value": "x"}
    assert patch("globalTags", None, [deep]) == {"tags": [{"tag": A, "context": "x"}]}
    assert patch("globalTags", None, [deep], modern=False) == {"tags": [{"context": "x"}]}


@pytest.mark.parametrize(
    ("aspect", "payload", "kind", "message"),
    [
        ("schemaMetadata", [], Malformed, "Patch not supported for aspect with"),
        ("globalTags", {"arrayPrimaryKeys": KEYS}, Malformed, "Missing `patch` field"),
        (
            "status",
            [{"op": "move", "path": "/removed"}],
            Malformed,
            "Unsupported PATCH operation: `move`",
        ),
        (
            "status",
            [{"op": "replace", "path": "/x", "value": 1}],
            Invalid,
            "Error performing JSON PATCH",
        ),
    ],
)
def test_refuses_what_cannot_be_done(
    aspect: str, payload: list[Json] | Json, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        patch(aspect, None, payload)


@pytest.fixture(params=["restli", "openapi"])
def write(request: pytest.FixtureRequest) -> Iterator[Any]:
    with Gms() as gms:
        graph = gms.graph(openapi_ingestion=request.param == "openapi")

        def send(builder: MetadataPatchProposal) -> Gms:
            for proposal in builder.build():
                graph.emit_mcp(proposal)
            return gms

        yield send


def test_the_clients_builders_patch_tags_owners_and_custom_properties(write: Any) -> None:  # noqa: ANN401 - a function
    source = MetadataAttributionClass(time=1, actor="urn:li:corpuser:x", source=ORDERS)
    own = OwnerClass("urn:li:corpuser:x", "DATAOWNER")
    write(DatasetPatchBuilder(ORDERS).add_tag(TagAssociationClass(A)).add_owner(own))
    gms = write(DatasetPatchBuilder(ORDERS).add_tag(TagAssociationClass(A, attribution=source)))
    gms = write(DatasetPatchBuilder(ORDERS).add_tag(TagAssociationClass(B)))
    gms = write(DatasetPatchBuilder(ORDERS).add_custom_property("a/b", "c"))
    found = gms.get(ORDERS, GlobalTagsClass)
    assert sorted((it.tag, it.attribution is None) for it in found.tags) == [
        (A, False), (A, True), (B, True),
    ]  # fmt: skip
    assert gms.get(ORDERS, OwnershipClass).owners == [own]
    assert gms.get(ORDERS, DatasetPropertiesClass).customProperties == {"a/b": "c"}
    gms = write(DatasetPatchBuilder(ORDERS).remove_tag(A).remove_tag("urn:li:tag:none"))
    assert [it.tag for it in gms.get(ORDERS, GlobalTagsClass).tags] == [B]
    write(DatasetPatchBuilder(ORDERS).remove_owner(own.owner).remove_custom_property("a/b"))
    assert gms.get(ORDERS, OwnershipClass).owners == []
    assert gms.get(ORDERS, DatasetPropertiesClass).customProperties == {}
    assert {it.change for it in gms.writes} == {"PATCH"}


def _edge(upstream: str, score: float) -> FineGrainedLineageClass:
    return FineGrainedLineageClass(
        upstreamType="FIELD_SET",
        downstreamType="FIELD",
        upstreams=[f"urn:li:schemaField:({CUSTOMERS},{upstream})"],
        downstreams=[f"urn:li:schemaField:({ORDERS},customer_id)"],
        transformOperation="JOINABLE_WITH",
        confidenceScore=score,
    )


def test_the_clients_builders_patch_lineage(write: Any) -> None:  # noqa: ANN401 - a function
    upstream = UpstreamClass(CUSTOMERS, "TRANSFORMED")
    write(DatasetPatchBuilder(ORDERS).add_upstream_lineage(upstream))
    gms = write(DatasetPatchBuilder(ORDERS).add_fine_grained_lineage(_edge("id", 0.9)))
    found = gms.get(ORDERS, UpstreamLineageClass)
    assert [it.dataset for it in found.upstreams] == [CUSTOMERS]
    assert found.fineGrainedLineages == [_edge("id", 0.9)]
    write(DatasetPatchBuilder(ORDERS).add_fine_grained_lineage(_edge("key", 0.5)))
    (merged,) = gms.get(ORDERS, UpstreamLineageClass).fineGrainedLineages
    assert merged.upstreams == [*_edge("id", 1).upstreams, *_edge("key", 1).upstreams]  # type: ignore[misc]  # both lists
    assert merged.confidenceScore == 0.5
    for edge in (_edge("id", 1), _edge("key", 1), _edge("none", 1)):
        write(DatasetPatchBuilder(ORDERS).remove_fine_grained_lineage(edge))
    write(DatasetPatchBuilder(ORDERS).remove_upstream_lineage(CUSTOMERS))
    found = gms.get(ORDERS, UpstreamLineageClass)
    assert (found.upstreams, found.fineGrainedLineages) == ([], [])


def test_status_is_patched_as_the_framework_does(write: Any) -> None:  # noqa: ANN401 - a function
    builder = DatasetPatchBuilder(ORDERS)
    builder._add_patch("status", "add", path=("removed",), value=False)  # noqa: SLF001 - as it does
    assert write(builder).get(ORDERS, StatusClass) == StatusClass(removed=False)
