"""Damage bytes and JSON at random, in the same way for the same seed."""

import copy
import json
import random
from typing import Any

_BLOCKS = (
    b"\x00",
    b"\xff\xfe\xfd",
    b"\xed\xa0\x80",
    b"9" * 400,
    b"-1e999",
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b'"',
    b"\r\n",
    b"[" * 5_000,
    b"\xef\xbb\xbf",
    b"NaN",
)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1 << 70,
    1e308,
    float("nan"),
    "",
    "\0",
    "\ud800",
    "9" * 400,
    "x" * 20_000,
    "a\n=,.()%41",
    [],
    {},
    [None],
    {"": None},
)
_MOST = 4
"""Maximum number of damages to one input."""


def damage(content: bytes, draw: random.Random, other: bytes) -> bytes:
    """Damage some bytes at one to four positions, sometimes by inserting parts of `other`."""
    for _ in range(draw.randint(1, _MOST)):
        content = _damage_once(content, draw, other)
    return content


def _damage_once(  # noqa: PLR0911 - one for each way
    content: bytes, draw: random.Random, other: bytes
) -> bytes:
    at, to = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    match draw.randrange(8):
        case 0 if content:
            at = min(at, len(content) - 1)
            flipped = content[at] ^ (1 << draw.randrange(8))
            return content[:at] + bytes([flipped]) + content[at + 1 :]
        case 1:
            return content[:at]
        case 2:
            return content[:at] + content[to:]
        case 3:
            return content[:to] + content[at:]
        case 4:
            begin, end = sorted(draw.randrange(len(other) + 1) for _ in range(2))
            return content[:at] + other[begin:end] + content[to:]
        case 5:
            block = draw.choice(_BLOCKS)
            return content[:at] + block + content[at + len(block) :]
        case 6:
            noise = draw.randbytes(draw.randint(1, 16))
            return content[:at] + noise + content[at + len(noise) :]
        case _:
            return content[:at] + draw.choice(_BLOCKS) + content[at:]


def damage_json(value: Any, draw: random.Random) -> Any:  # noqa: ANN401 - JSON
    """Copy a JSON value, and replace, remove, repeat or rename one to four values in it."""
    value = json.loads(json.dumps(value))
    for _ in range(draw.randint(1, _MOST)):
        value = _damage_value(value, draw)
    return value


def _damage_value(value: Any, draw: random.Random) -> Any:  # noqa: ANN401 - JSON
    places = _places(value)
    if not places:
        return copy.deepcopy(draw.choice(_VALUES))
    parent, key = draw.choice(places)
    match draw.randrange(6):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, list):
            parent.insert(key, parent[key])
        case 1:
            parent[draw.choice(("", "urn", "x" * 300, "\0"))] = parent.pop(key)
        case 2:
            parent[key] = [parent[key]]
        case 3:
            parent[key] = {"value": parent[key]}
        case 4:
            other, name = draw.choice(places)
            parent[key] = json.loads(json.dumps(other[name]))
        case _:
            parent[key] = copy.deepcopy(draw.choice(_VALUES))  # never one list in two places
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - JSON
    """Return every container in a JSON value, together with each of its keys or positions."""
    places, waiting = list[tuple[Any, Any]](), [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, dict):
            places += [(container, key) for key in container]
            waiting += container.values()
        elif isinstance(container, list):
            places += [(container, at) for at in range(len(container))]
            waiting += container
    return places


def damage_text(content: bytes, draw: random.Random, other: bytes) -> bytes:
    """Damage the bytes of a text.

    If it is JSON, its values are damaged instead half of the time.
    """
    try:
        lines = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        try:
            lines = [json.loads(content)]
        except ValueError:
            lines = []
    if not lines or draw.random() < 0.5:
        return damage(content, draw, other)
    at = draw.randrange(len(lines))
    lines[at] = damage_json(lines[at], draw)
    return "\n".join(map(json.dumps, lines)).encode()
