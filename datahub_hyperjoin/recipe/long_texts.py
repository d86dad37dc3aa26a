"""Refuse recipes that contain very long texts.

Error messages repeat keys and values.
"""

from collections.abc import Mapping

_LONGEST_KEY = 200
_LONGEST_TEXT = 4_096
"""The greatest length of a path in Linux."""
_LONGEST_SETTING = 1 << 20
"""Maximum length of a Spark setting: class paths, for example, may be long. Error messages never
contain Spark settings."""
_SETTINGS = "spark.settings."


def refuse_long_texts(recipe: object) -> None:
    """Refuse a recipe with a key or text that is too long."""
    waiting = [("", recipe)]
    seen = set()  # YAML can write a list that contains itself
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            _check_text(key, value)
        elif isinstance(value, Mapping | list) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, Mapping) else enumerate(value)
            for name, inner in items:
                _check_key(key, str(name))
                waiting.append((f"{key}.{name}" if key else str(name), inner))


def _check_text(key: str, text: str) -> None:
    longest = _LONGEST_SETTING if key.startswith(_SETTINGS) else _LONGEST_TEXT
    if len(text) > longest:
        message = (
            f"the key `{key}` has a text of {len(text)} characters; at most {longest} are allowed"
        )
        raise ValueError(message)


def _check_key(section: str, name: str) -> None:
    if len(name) > _LONGEST_KEY:
        message = (
            f"a key in `{section or 'config'}` has {len(name)} characters and begins with "
            f"{name[:20]!r}; at most {_LONGEST_KEY} are allowed. Remove it"
        )
        raise ValueError(message)
