"""Read a recipe file as `datahub ingest` does, and explain what is wrong with it."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toml
import yaml
from datahub.configuration.common import ConfigurationError
from datahub.configuration.config_loader import load_config_file, resolve_env_variables
from expandvars import ExpandvarsException, ParameterNullOrNotSet, UnboundVariable

from datahub_hyperjoin.recipe_check.errors import UnreadableRecipeError

_QUOTE = re.compile(r"""\ ?(?:(['"])((?:\\.|(?!\1).)*)\1|(<[\w ]+>))""")
"""A quotation in an error message about YAML: a part of the recipe, or a term like `<scalar>`."""
_IN_WORDS = {
    "<block end>": "the end of the section",
    "<block mapping start>": "a key",
    "<block sequence start>": "a list",
    "<scalar>": "a text",
    "<stream end>": "the end of the file",
    "?": "a key",
    "\\t": "tab",
}
"""Plain words for the terms in error messages about YAML."""
_BARE_VARIABLE = re.compile(r"\$(\w+)", re.ASCII)
_SOME_VALUE = "?"


@dataclass(frozen=True)
class WrittenRecipe:
    """A recipe, before and after variables are replaced."""

    written: Mapping[str, Any]
    """The recipe as written in its file, with variables."""

    resolved: Mapping[str, Any]
    """The recipe with variables replaced by their values. A text with an unset variable is
    unchanged."""

    unset: Mapping[str, str]
    """Maps recipe keys, such as `sink.config.token`, to messages about variables that cannot be
    replaced."""

    def has_values_of(self, section: str) -> bool:
        """Return whether all variables in a section of the recipe have values."""
        return not any(key.startswith(f"{section}.") for key in self.unset)


def read_recipe_file(path: Path) -> WrittenRecipe:
    """Read a recipe, and replace its variables."""
    written = _parse(path)
    if not isinstance(written, Mapping):
        raise UnreadableRecipeError.without_sections(str(path))
    unset: dict[str, str] = {}
    resolved = _resolve(written, "", unset)
    return WrittenRecipe(written, resolved, unset)


def _parse(path: Path) -> object:
    name = str(path)
    try:
        return load_config_file(path, allow_remote=False, resolve_env_vars=False)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UnreadableRecipeError.at(name, line, _in_words(error.problem or "")) from None
    except (json.JSONDecodeError, toml.TomlDecodeError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else ""
        raise UnreadableRecipeError.at(name, error.lineno, reason) from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise UnreadableRecipeError.for_characters(name) from None
    except OSError as error:
        raise UnreadableRecipeError.because(name, error.strerror or "") from None
    except ConfigurationError as error:
        raise UnreadableRecipeError.because(name, str(error)) from None
    except AttributeError:
        # DataHub copies the recipe, and a text or an empty file cannot be copied.
        return None


def _in_words(problem: str) -> str:
    """Reword a YAML error message, and omit quoted text of the recipe, which may be a secret.

    >>> _in_words("expected the node content, but found '<stream end>'")
    'expected a value, but found the end of the file'
    >>> _in_words("expected <block end>, but found '<scalar>'")
    'expected the end of the section, but found a text'
    >>> _in_words("expected ',' or ']', but got ':'"), _in_words("found undefined alias 's3cret'")
    ("expected ',' or ']', but got ':'", 'found undefined alias')
    """

    def reword(quote: re.Match[str]) -> str:
        text = quote[2] or quote[3]
        if text in _IN_WORDS:
            return f" {_IN_WORDS[text]}"
        return quote[0] if len(text) == 1 else ""

    return _QUOTE.sub(reword, problem.replace("the node content", "a value"))


def _resolve(value: Any, key: str, unset: dict[str, str]) -> Any:  # noqa: ANN401 - YAML
    """Replace the variables in all texts of a value, and record failures in `unset`."""
    match value:
        case Mapping():
            return {
                name: _resolve(inner, f"{key}.{name}".lstrip("."), unset)
                for name, inner in value.items()
            }
        case list():
            return [_resolve(inner, f"{key}[{at}]", unset) for at, inner in enumerate(value)]
        case str():
            resolved, fault = _resolve_text(value)
            if fault:
                unset[key] = f"`{key}`: {fault}"
            return resolved
        case _:
            return value


def _resolve_text(text: str) -> tuple[str, str]:
    """Return a text with its variables replaced, and the fault if they cannot be replaced."""
    try:
        if missing := _find_missing(text, os.environ):
            return text, _set_them(missing)
        resolved = _expand(text, os.environ)
    except ExpandvarsException:
        return text, "its variable cannot be read. Write `${NAME}`, or `${NAME:-default}`"
    if (bare := _BARE_VARIABLE.fullmatch(text)) and bare[1] not in os.environ:
        # Perhaps this is a password, so the message does not repeat it.
        return text, (
            "it begins with `$` like a variable, and no such variable is set, so that DataHub "
            "would use the text itself. Set the variable before the run"
        )
    return resolved, ""


def _find_missing(text: str, environment: Mapping[str, str]) -> list[str]:
    """List the variables of a text that are not set."""
    try:
        _expand(text, environment)
    except (UnboundVariable, ParameterNullOrNotSet) as error:
        name = str(error.args[0]).partition(":")[0]
        return [name, *_find_missing(text, {**environment, name: _SOME_VALUE})]
    return []


def _expand(text: str, environment: Mapping[str, str]) -> str:
    return str(resolve_env_variables({"text": text}, environment)["text"])


def _set_them(names: list[str]) -> str:
    if len(names) == 1:
        return f"the environment variable {names[0]} is not set. Set it before the run"
    return f"the environment variables {', '.join(names)} are not set. Set them before the run"
