from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.emit.keyed import Change, Document, file_elements, list_elements, trim

Patch = list[Change]

KEYS = {"tags": ["attribution\N{SYMBOL FOR UNIT SEPARATOR}source", "tag"]}
_NAMES = st.sampled_from(["a", "b", "c/d", "e~f"])


@st.composite
def elements(draw: st.DrawFn) -> dict[str, Any]:
    element: dict[str, Any] = {"tag": draw(_NAMES), "context": draw(st.sampled_from("xy"))}
    if draw(st.booleans()):
        element["attribution"] = {"source": draw(_NAMES)}
    return element


@st.composite
def changes(draw: st.DrawFn) -> Change:
    element = draw(elements())
    source = element.get("attribution", {}).get("source", "")
    way = [source, element["tag"]][: draw(st.sampled_from([1, 2, 2, 2]))]
    path = "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in ["tags", *way])
    if len(way) == 1 or draw(st.booleans()):
        return {"op": "remove", "path": path, "value": {}}
    return {"op": draw(st.sampled_from(["add", "replace"])), "path": path, "value": element}


documents = st.fixed_dictionaries({"tags": st.lists(elements())})
patches = st.lists(changes(), max_size=6)


def filed(document: Document) -> dict[str, Any]:
    return file_elements(document["tags"], KEYS["tags"])


def whole(document: Document, patch: Patch) -> dict[str, Any]:
    """The patch in full, by another way: one change after the other on a flat map."""
    flat: dict[tuple[str, str], Any] = {}
    for element in document["tags"]:
        place = (element.get("attribution", {}).get("source", ""), element["tag"])
        flat[place] = {**flat.get(place, {}), **element}
    for change in patch:
        way = tuple(s.replace("~1", "/").replace("~0", "~") for s in change["path"].split("/")[2:])
        if change["op"] == "remove":
            flat = {place: one for place, one in flat.items() if place[: len(way)] != way}
        else:
            flat[way[0], way[1]] = change["value"]
    return {f"{source}|{tag}": one for (source, tag), one in flat.items()}


def flattened(document: Document) -> dict[str, Any]:
    return {
        f"{source}|{tag}": one
        for source, own in filed(document).items()
        for tag, one in own.items()
    }


@given(documents, patches)
def test_what_is_left_of_a_patch_does_what_the_patch_does(document: Document, patch: Patch) -> None:
    kept, after = trim(document, patch, KEYS)
    assert flattened(after) == whole(document, patch) == whole(document, kept)


@given(documents, patches)
def test_nothing_is_left_if_and_only_if_nothing_changes(document: Document, patch: Patch) -> None:
    kept, _ = trim(document, patch, KEYS)
    assert (not kept) == (whole(document, patch) == whole(document, []))


@given(documents, patches)
def test_a_patch_changes_nothing_the_second_time(document: Document, patch: Patch) -> None:
    # A patch whose later changes undo earlier ones would do its work again.
    patch = list(
        {change["path"]: change for change in patch if change["path"].count("/") == 3}.values()
    )
    _, after = trim(document, patch, KEYS)
    assert trim(after, patch, KEYS) == ([], after)


@given(documents)
def test_filing_loses_no_element(document: Document) -> None:
    listed = list_elements(filed(document), 2)
    assert file_elements(listed, KEYS["tags"]) == filed(document)


def test_a_stamp_of_the_server_is_no_difference() -> None:
    stamp = {"time": 7, "actor": "urn:li:corpuser:jdoe"}
    present = {"tags": [{"tag": "a", "context": "x", "lastModified": stamp}]}
    same = {"op": "add", "path": "/tags/a", "value": {"tag": "a", "context": "x"}}
    other = {"op": "add", "path": "/tags/a", "value": {"tag": "a", "context": "y"}}
    assert trim(present, [same], {"tags": ["tag"]}) == ([], present)
    assert trim(present, [other], {"tags": ["tag"]}) == ([other], {"tags": [other["value"]]})


def test_an_array_that_is_missing_is_begun() -> None:
    change = {"op": "add", "path": "/tags/a", "value": {"tag": "a"}}
    assert trim({}, [change], {"tags": ["tag"]}) == ([change], {"tags": [{"tag": "a"}]})


def test_a_path_into_a_value_is_not_understood() -> None:
    change = {"op": "add", "path": "/tags/a/tag/0", "value": "b"}
    with pytest.raises(TypeError, match="/tags/a/tag/0 leads through what is no map"):
        trim({"tags": [{"tag": "a"}]}, [change], {"tags": ["tag"]})
