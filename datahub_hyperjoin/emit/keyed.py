"""Patches of arrays whose elements have keys, applied as DataHub's server does.

Such a patch names the fields that make an element's key; its paths lead through their values. Here
it is applied to what the catalog holds, so that only what changes something is sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]
"""An aspect as JSON, or a part of it."""

Change = Mapping[str, Any]
"""A JSON patch operation: `op` (add, remove or replace), `path`, and but for removals `value`."""

_INTO = "\N{SYMBOL FOR UNIT SEPARATOR}"
"""Stands between the steps of a key that lies deeper in an element."""

_STAMPS = ("created", "lastModified")
"""What the server may add to an element by itself."""


def steps(path: str) -> list[str]:
    """The steps of a JSON pointer.

    >>> steps("/tags//urn:li:tag:a~1b")
    ['tags', '', 'urn:li:tag:a/b']
    """
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _key(element: Document, name: str) -> str:
    found: Any = element
    for step in name.split(_INTO):
        found = found.get(step) if isinstance(found, Mapping) else None
    return "" if found is None else str(found)


def file_elements(elements: Iterable[Document], keys: Sequence[str]) -> dict[str, Any]:
    """Elements as nested maps by their keys; a key that an element lacks is empty.

    >>> file_elements([{"tag": "a"}, {"tag": "b", "context": "x"}], ["tag"])
    {'a': {'tag': 'a'}, 'b': {'tag': 'b', 'context': 'x'}}
    """
    filed: dict[str, Any] = {}
    for element in elements:
        place = filed
        for name in keys:
            place = place.setdefault(_key(element, name), {})
        place.update(element)
    return filed


def list_elements(filed: Document, depth: int) -> list[Any]:
    """The elements of nested maps.

    Args:
        filed: The maps.
        depth: How many keys an element has.

    >>> list_elements({"a": {"tag": "a"}, "b": {"tag": "b"}}, 1)
    [{'tag': 'a'}, {'tag': 'b'}]
    """
    if depth == 0:
        return [filed]
    return [element for below in filed.values() for element in list_elements(below, depth - 1)]


def _same(present: Any, proposed: Any) -> bool:  # noqa: ANN401 - JSON has no closer type
    if isinstance(present, Mapping) and isinstance(proposed, Mapping):
        own = {name: present[name] for name in present if name in proposed or name not in _STAMPS}
        return own == proposed
    return bool(present == proposed)


def apply(node: Document, way: Sequence[str], change: Change) -> Document:
    """A document after one change.

    Args:
        node: The document; it stays as it is.
        way: Where in it the change is made, at least one step.
        change: The change.

    Returns:
        The very same document if nothing changes.

    Raises:
        TypeError: The way leads through what is no map.

    >>> apply({"a": {"b": 1}}, ["a", "b"], {"op": "remove"})
    {'a': {}}
    """
    first, *rest = way
    removal = change["op"] == "remove"
    if removal and first not in node:
        return node
    if not rest:
        if removal:
            return {name: below for name, below in node.items() if name != first}
        proposed = change["value"]
        return node if first in node and _same(node[first], proposed) else {**node, first: proposed}
    below = node.get(first, {})
    if not isinstance(below, Mapping):
        message = f"{change['path']} leads through what is no map"
        raise TypeError(message)
    changed = apply(below, rest, change)
    return node if changed is below else {**node, first: changed}


def trim(
    document: Document, changes: Iterable[Change], keys: Mapping[str, Sequence[str]]
) -> tuple[list[Change], Document]:
    """The part of a patch that changes something.

    Args:
        document: The aspect that the catalog holds, as JSON.
        changes: The patch.
        keys: For each array that the patch changes, the fields that make an element's key.

    Returns:
        The changes to send, none if they change nothing together, and the aspect after them.

    Raises:
        TypeError: The patch leads through what is no map.

    >>> tags = {"tags": [{"tag": "a"}]}
    >>> remove = [{"op": "remove", "path": f"/tags/{tag}"} for tag in ("a", "b")]
    >>> trim(tags, remove, {"tags": ["tag"]})
    ([{'op': 'remove', 'path': '/tags/a'}], {'tags': []})
    """
    filed = {name: file_elements(document.get(name) or [], own) for name, own in keys.items()}
    before: Document = {**document, **filed}
    after, kept = before, []
    for change in changes:
        changed = apply(after, steps(change["path"]), change)
        if changed is not after:
            kept.append(change)
        after = changed
    lists = {name: list_elements(after.get(name, {}), len(own)) for name, own in keys.items()}
    refiled = {name: file_elements(lists[name], own) for name, own in keys.items()}
    unchanged = {**after, **refiled} == before
    return ([], document) if unchanged else (kept, {**after, **lists})
