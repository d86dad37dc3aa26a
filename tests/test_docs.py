"""What the documents name exists, and what they say of the configuration is so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from datahub_hyperjoin import __version__
from datahub_hyperjoin.config import HyperJoinConfig

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("[dmi]*/README.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")

Schema = dict[str, Any]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def code(document: str) -> str:
    """Everything that stands in code fences or between backticks, one piece a line."""
    pieces = re.findall(r"```\w*\n(.*?)```|`([^`\n]+)`", document, flags=re.DOTALL)
    return "\n".join(block or inline for block, inline in pieces)


def resolve(schema: Schema, definitions: Schema) -> Schema:
    """Follow references and optional types to the schema that has the properties."""
    for choice in [schema, *schema.get("allOf", []), *schema.get("anyOf", [])]:
        if "$ref" in choice:
            found: Schema = definitions[choice["$ref"].rsplit("/", 1)[-1]]
            return found
    return schema


def option(key: str) -> Schema:
    """What the recipe's schema says of a key such as `ranking.top_k`."""
    root = HyperJoinConfig.model_json_schema()
    found: Schema = root
    for part in key.split("."):
        found = resolve(found, root.get("$defs", {}))["properties"][part]
    return found


def rows_of_the_configuration() -> list[tuple[str, str]]:
    """Key and default of every row of the README's table."""
    return re.findall(r"^\| `([\w.]+)` \| (.*?) \|", README, flags=re.MULTILINE)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_target_named_exists(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", code(document.read_text(encoding="utf-8"))))
    assert named - targets == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_path_named_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    folders = "datahub_hyperjoin|ingestion_recipes|model|spark|tests"
    named = set(re.findall(rf"(?<![\w/.])(?:{folders})/[\w./-]*\w", code(text)))
    assert {path for path in named if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_link_into_the_tree_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize(("key", "default"), rows_of_the_configuration())
def test_a_row_of_the_configuration_is_so(key: str, default: str) -> None:
    schema = option(key)
    assert schema.get("description")
    if "default" in schema:
        assert default == f"`{json.dumps(schema['default'])}`".replace('"', "")
    else:
        assert default == "required"


def test_the_changelog_has_the_current_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[(?:Unreleased|{re.escape(__version__)})\]", changelog, re.MULTILINE)
