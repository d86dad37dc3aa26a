from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.emit.edges import patchable, trim_edges
from datahub_hyperjoin.emit.keyed import Change, Document
from datahub_hyperjoin.emit.patches import edge_path, upstream_path
from gms.patch import apply_patch

OURS, THEIRS = ({"time": 0, "actor": f"urn:li:corpuser:{name}"} for name in ("_ingestion", "jdoe"))
_DATASETS = st.sampled_from(["a", "b", "c"])
_COLUMNS = st.sampled_from(["a.id", "b.id", "c.id"])
_SCORES = st.sampled_from([0.5, 0.75, 1.0])
_TYPES = {"upstreamType": "FIELD_SET", "downstreamType": "FIELD"}
upstreams = st.builds(
    lambda dataset, stamp: {"dataset": dataset, "auditStamp": stamp},
    _DATASETS,
    st.sampled_from([OURS, THEIRS]),
)
lineages = st.builds(
    lambda operation, sources, target, score: {
        "transformOperation": operation,
        "upstreams": sources,
        "downstreams": [target],
        "confidenceScore": score,
        **_TYPES,
    },
    st.sampled_from(["JOINABLE_WITH", "COPY"]),
    st.lists(_COLUMNS, min_size=1, max_size=2, unique=True),
    _COLUMNS,
    _SCORES,
)
documents = st.fixed_dictionaries(
    {
        "upstreams": st.lists(upstreams, unique_by=lambda one: one["dataset"]),
        "fineGrainedLineages": st.lists(lineages, max_size=3),
    }
)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    value: dict[str, Any]
    if draw(st.booleans()):
        dataset = draw(_DATASETS)
        path, value = upstream_path(dataset), {"dataset": dataset, "auditStamp": OURS}
    else:
        path = edge_path(draw(_COLUMNS), draw(_COLUMNS))
        value = {"confidenceScore": draw(_SCORES)}
    if draw(st.booleans()):
        return {"op": "remove", "path": path, "value": {}}
    return {"op": "add", "path": path, "value": value}


patches = st.lists(changes(), max_size=5, unique_by=lambda change: change["path"])


def by_server(document: Document, patch: list[Change]) -> Any:  # noqa: ANN401 - any JSON
    """Lineage after a patch, without an order."""
    done = apply_patch("upstreamLineage", dict(document), list(map(dict, patch)), modern=True)
    fine = [
        (
            edge["transformOperation"],
            edge["downstreams"],
            sorted(edge["upstreams"]),
            edge["confidenceScore"],
        )
        for edge in done["fineGrainedLineages"]
    ]
    return sorted(one["dataset"] for one in done["upstreams"]), sorted(fine)


def allowed(document: Document, patch: list[Change]) -> list[Change]:
    """Without what would remove the edges of others between datasets."""
    theirs = {
        upstream_path(one["dataset"])
        for one in document["upstreams"]
        if one["auditStamp"] == THEIRS
    }
    return [one for one in patch if one["op"] == "add" or one["path"] not in theirs]


@given(documents, patches)
def test_what_is_left_of_a_patch_does_what_the_patch_does(
    document: Document, patch: list[Change]
) -> None:
    kept, _ = trim_edges(document, patch)
    assert by_server(document, kept) == by_server(document, allowed(document, patch))


@given(documents, patches)
def test_nothing_is_left_if_and_only_if_nothing_changes(
    document: Document, patch: list[Change]
) -> None:
    kept, _ = trim_edges(document, patch)
    same = by_server(document, allowed(document, patch)) == by_server(document, [])
    assert (not kept) == same


@given(documents, patches)
def test_a_patch_changes_nothing_the_second_time(document: Document, patch: list[Change]) -> None:
    _, after = trim_edges(document, patch)
    assert trim_edges(after, patch) == ([], after)


def test_single_precision_is_no_difference() -> None:
    path = edge_path("a.id", "b.id")
    change = {"op": "add", "path": path, "value": {"confidenceScore": 0.9312}}
    element = {
        "transformOperation": "JOINABLE_WITH",
        "upstreams": ["a.id"],
        "downstreams": ["b.id"],
        "confidenceScore": 0.9312000274658203,
    }
    assert trim_edges({"fineGrainedLineages": [element]}, [change])[0] == []


def test_lineage_with_an_edge_to_several_columns_cannot_be_patched() -> None:
    assert patchable({})
    assert patchable({"fineGrainedLineages": [{"downstreams": ["a"]}]})
    assert not patchable({"fineGrainedLineages": [{"downstreams": ["a", "b"]}]})


def test_anything_but_an_edge_is_not_understood() -> None:
    with pytest.raises(LookupError, match="/upstreams is no edge"):
        trim_edges({}, [{"op": "add", "path": "/upstreams", "value": []}])
