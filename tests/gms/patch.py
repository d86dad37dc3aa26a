"""Apply JSON Patch to aspects, whose array elements are addressed by key."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from gms.refusals import Invalid, Malformed
from gms.templates import TEMPLATES, Template, to_list, to_map

Json = dict[str, Any]


def apply_patch(
    aspect: str, base: Json | None, payload: Json | list[Json], *, modern: bool
) -> Json:
    """Apply a patch to an aspect, and return the result.

    Args:
        aspect: The name of the aspect.
        base: The aspect as stored; None if there is none.
        payload: The operations, or an object with the operations and the keys of arrays.
        modern: Whether the server has release 1.7 or later. Earlier ones reject a path that ends in
            an empty key without a value, and do not write keys back into elements.

    Raises:
        Malformed: The operation is unknown, or the aspect cannot be patched.
        Invalid: An operation cannot be executed.
    """
    envelope: Json = {"patch": payload} if isinstance(payload, list) else payload
    if "patch" not in envelope:
        message = "Missing `patch` field."
        raise Malformed(message)
    keys = envelope.get("arrayPrimaryKeys") or {}
    known = TEMPLATES.get(aspect)
    if keys or envelope.get("forceGenericPatch"):
        template = Template(known.default if known else {}, keys)
    elif known:
        template = known
    else:
        message = f"Patch not supported for aspect with name {aspect}."
        raise Malformed(message)
    start = copy.deepcopy(template.default if base is None else base)
    try:
        return _change(start, envelope["patch"], template, modern=modern)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        message = f"Error performing JSON PATCH on aspect {aspect}: {error!r}"
        raise Invalid(message) from error


def split(path: str) -> list[str]:
    """Split a JSON pointer into its steps.

    >>> split("/tags//urn:li:tag:a~1b~0c")
    ['tags', '', 'urn:li:tag:a/b~c']
    """
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _change(start: Json, changes: Sequence[Json], template: Template, *, modern: bool) -> Json:
    opened = _open(start, template)
    for change in changes:
        _prepare(opened, change, modern=modern)
    for change in changes:
        _carry_out(opened, change)
    return _close(opened, template, restore=modern)


def _open(start: Json, template: Template) -> Json:
    arrays = {name: to_map(start.get(name) or [], keys) for name, keys in template.arrays.items()}
    return template.open({**start, **arrays})


def _close(patched: Json, template: Template, *, restore: bool) -> Json:
    arrays: Mapping[str, list[Any]] = {
        name: to_list(patched.get(name) or [], keys, restore=restore)
        for name, keys in template.arrays.items()
    }
    return template.close({**patched, **arrays})


def _prepare(opened: Json, change: Json, *, modern: bool) -> None:
    """Create missing objects along the path of a change.

    For a removal, this includes the last object, so that the removal succeeds.
    """
    steps = split(change["path"])
    if not modern:
        while steps and not steps[-1]:
            steps.pop()  # Java's split drops them
    whole = change["op"] == "remove" or (modern and steps[-1] == "")
    level: Any = opened
    for step in steps if whole else steps[:-1]:
        if level.get(step) is None:
            level[step] = {}
        level = level[step]


def _carry_out(opened: Json, change: Json) -> None:
    *way, last = split(change["path"])
    level: Any = opened
    for step in way:
        level = level[int(step)] if isinstance(level, list) else level[step]
    match change["op"]:
        case "add":
            _add(level, last, change["value"])
        case "replace":
            if last not in level:
                raise KeyError(last)
            level[last] = change["value"]
        case "remove":
            del level[int(last) if isinstance(level, list) else last]
        case other:
            message = f"Unsupported PATCH operation: `{other}`"
            raise Malformed(message)


def _add(level: Any, last: str, value: Any) -> None:  # noqa: ANN401 - any JSON
    value = copy.deepcopy(value)
    if isinstance(level, list):
        level.insert(len(level) if last == "-" else int(last), value)
    else:
        level[last] = value
