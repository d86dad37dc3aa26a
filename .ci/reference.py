"""Generate the reference and the JSON schema of all recipe keys from the configuration classes.

Usage: python .ci/reference.py [FOLDER]. Without a folder, the files of docs/ are replaced.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datahub_hyperjoin.action.plugin import ActionConfig
from datahub_hyperjoin.recipe import HyperJoinConfig

ROOT = Path(__file__).resolve().parent.parent
OPENING = """\
# Recipe reference

All keys of `source.config`, generated from the configuration by `make reference`; the
[README](../README.md#configuration) has the ones that most recipes need. Unknown keys are refused,
with the key that was probably meant. A text such as `${NAME}` takes its value from the environment,
for keys of any type.

Editors that know JSON schemas complete and check recipes with
[`recipe.schema.json`](recipe.schema.json). For those with the YAML language server, the first line
of a recipe names it:

```yaml
# yaml-language-server: $schema=https://raw.githubusercontent.com/datahub-hyperjoin/datahub-hyperjoin/main/docs/recipe.schema.json
```"""
HEADER = "| key | type and limits | default | effect |\n|---|---|---|---|"
TYPES = {
    "array": "list of texts",
    "boolean": "`true`, `false`",
    "integer": "integer",
    "number": "number",
    "object": "texts by name",
    "password": "text, secret",
    "path": "path",
    "string": "text",
}
LIMITS = {
    "exclusiveMinimum": "above",
    "minimum": "from",
    "exclusiveMaximum": "to below",
    "maximum": "to",
    "multipleOf": "in steps of",
}
OF_DATAHUB = ("AllowDenyPattern", "StatefulStaleMetadataRemovalConfig")
"""Definitions whose own descriptions are omitted, because DataHub wrote them for its programmers.
"""
VARIABLE = {
    "description": "A variable of the environment",
    "pattern": r"\$\{",
    "type": "string",
}

Schema = dict[str, Any]


class Reference:
    """A Markdown reference of the keys of one configuration.

    Args:
        schema: Its JSON schema.
        name: Where it stands in the file.
        about: What it is for.
    """

    def __init__(self, schema: Schema, name: str, about: str) -> None:
        self._schema = {**schema, "description": about}
        self._name = name
        self._first: dict[str, str] = {}

    def text(self) -> str:
        """Return the whole reference, with one part for each section of the configuration."""
        return "\n\n".join(self._sections(self._schema, ""))

    def _sections(self, section: Schema, path: str) -> Iterator[str]:
        """Yield the text of a section, then the texts of the sections in it."""
        title = f"## `{path.rstrip('.') or self._name}`"
        rows = [self._row(section, key, path) for key in section["properties"]]
        about = one_line(section.get("description", ""))
        table = "\n".join([HEADER, *rows])
        yield "\n\n".join(part for part in (title, about, table) if part)
        for key, node in section["properties"].items():
            name = definition(node)
            if name and self._is_section(name) and self._first[name] == f"{path}{key}":
                suffix = "[]." if "items" in node else "."
                inner = self._schema["$defs"][name]
                if name in OF_DATAHUB:
                    inner = {**inner, "description": ""}
                yield from self._sections(inner, f"{path}{key}{suffix}")

    def _row(self, section: Schema, key: str, path: str) -> str:
        node = section["properties"][key]
        definitions = self._schema.get("$defs", {})
        name = definition(node)
        effect = node.get("description") or definitions[name]["description"]
        kind = self._kind(node, f"{path}{key}")
        default = "required" if key in section.get("required", ()) else default_of(node)
        return f"| `{key}` | {kind} | {default} | {one_line(effect)} |"

    def _kind(self, node: Schema, path: str) -> str:
        """Describe the values that a key may have."""
        name = definition(node)
        if name and self._is_section(name):
            suffix = "[]" if "items" in node else ""
            first = self._first.setdefault(name, path)
            anchor = re.sub(r"[^\w-]", "", f"{first}{suffix}").lower()
            return f"[{'sections' if suffix else 'section'}](#{anchor})"
        return " or ".join(dict.fromkeys(self._choices(node)))

    def _choices(self, node: Schema) -> Iterator[str]:
        if name := definition(node):
            node = self._schema["$defs"][name]
        for choice in node.get("anyOf", [node]):
            if "enum" in choice:
                yield ", ".join(f"`{value}`" for value in choice["enum"])
            elif choice.get("type") != "null":
                yield " ".join([type_of(choice), *limits_of(choice)])

    def _is_section(self, name: str) -> bool:
        return "properties" in self._schema["$defs"][name]


def definition(node: Schema) -> str:
    """Return the name of the definition to which a key refers, or an empty text."""
    for choice in (node, node.get("items", {}), *node.get("anyOf", ())):
        if "$ref" in choice:
            return str(choice["$ref"]).rpartition("/")[2]
    return ""


def type_of(choice: Schema) -> str:
    """Describe a value's format in words, such as path; without a format, describe its type."""
    return TYPES[str(choice.get("format", choice["type"]))]


def limits_of(choice: Schema) -> list[str]:
    """Return the limits that a schema sets for a number, as texts such as `from 1`."""
    return [f"{words} {choice[key]:,.16g}" for key, words in LIMITS.items() if key in choice]


def default_of(node: Schema) -> str:
    """Return the default of a key as YAML, or an empty text if the key is a section.

    The keys of a section have defaults of their own.
    """
    default = node.get("default", {})
    if isinstance(default, dict) and (default or definition(node)):
        return ""
    return f"`{default if isinstance(default, str) and default else json.dumps(default)}`"


def one_line(text: str) -> str:
    """Join the lines of a text and escape `|`, so that the text fits a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", r"\|")


def for_editors() -> Schema:
    """Return the JSON schema of a whole recipe."""
    config = HyperJoinConfig.model_json_schema()
    definitions = {name: allow_variables(node) for name, node in config.pop("$defs").items()}
    config["properties"] = allow_variables(config["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Recipe of datahub-hyperjoin",
        "type": "object",
        "required": ["source"],
        "properties": {
            "pipeline_name": {
                "description": "Later runs with this name update what earlier ones wrote.",
                "type": "string",
            },
            "source": {
                "type": "object",
                "required": ["type", "config"],
                "properties": {
                    "type": {"const": "hyperjoin"},
                    "config": {"$ref": "#/$defs/HyperJoinConfig"},
                },
            },
        },
        "$defs": {**definitions, "HyperJoinConfig": config, "Variable": VARIABLE},
    }


def allow_variables(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Let an environment variable replace any boolean, number or enum value in a schema.

    DataHub replaces variables before the configuration sees them, and an editor does not.
    """
    if isinstance(node, list):
        return [allow_variables(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") in ("boolean", "integer", "number") or "enum" in node:
        return {"anyOf": [node, {"$ref": "#/$defs/Variable"}]}
    return {key: allow_variables(value) for key, value in node.items()}


def main(folder: Path) -> None:
    """Write the reference of all recipe keys and the JSON schema of recipes to a folder."""
    recipe = Reference(
        HyperJoinConfig.model_json_schema(), "source.config", about="The settings of a run."
    )
    action = Reference(
        ActionConfig.model_json_schema(),
        "action.config",
        about="The settings of the [DataHub Action](action.md), which runs a recipe at once.",
    )
    text = f"{OPENING}\n\n{recipe.text()}\n\n{action.text()}\n"
    (folder / "reference.md").write_text(text, encoding="utf-8")
    schema = json.dumps(for_editors(), indent=2)
    (folder / "recipe.schema.json").write_text(f"{schema}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs")
