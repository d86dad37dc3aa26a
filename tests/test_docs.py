"""Test that the documents name only existing things, and describe the configuration correctly."""

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datahub_hyperjoin import __version__
from datahub_hyperjoin.recipe import HyperJoinConfig

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("[dims]*/README.md"),
        *ROOT.glob("docs/[!R]*.md"),
        *ROOT.glob("docs/lab/*.md"),
        *ROOT.glob("docs/*.ipynb"),
    ]
)
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

Schema = dict[str, Any]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def code(document: str) -> str:
    """Return all code fences and all text between backticks, one piece per line."""
    pieces = re.findall(r"```\w*\n(.*?)```|`([^`\n]+)`", document, flags=re.DOTALL)
    return "\n".join(block or inline for block, inline in pieces)


def sections(document: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", document, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def resolve(schema: Schema, definitions: Schema) -> Schema:
    """Return the definition that a schema refers to, or the schema if it refers to none."""
    for choice in [schema, *schema.get("allOf", []), *schema.get("anyOf", [])]:
        if "$ref" in choice:
            definition: Schema = definitions[choice["$ref"].rsplit("/", 1)[-1]]
            return definition
    return schema


def option(key: str) -> Schema:
    """Return the part of the recipe's schema for a key such as `ranking.top_k`."""
    root = HyperJoinConfig.model_json_schema()
    schema: Schema = root
    for part in key.split("."):
        schema = resolve(schema, root.get("$defs", {}))["properties"][part]
    return schema


def rows_of_the_configuration() -> list[tuple[str, str]]:
    """Return the key and the default in each row of the README's configuration table."""
    return re.findall(r"^\| `([\w.]+)` \| (.*?) \|", README, flags=re.MULTILINE)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_named_target_exists(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", code(document.read_text(encoding="utf-8"))))
    assert named - targets == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_named_path_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    folders = "datahub_hyperjoin|ingestion_recipes|model|spark|tests"
    named = set(re.findall(rf"(?<![\w/.])(?:{folders})/[\w./-]*\w", code(text)))
    assert {path for path in named if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_link_to_a_section_names_a_heading(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", document.read_text(encoding="utf-8"))
    targets = [(document.parent / file if file else document, section) for file, section in links]
    assert [
        f"{file}#{section}"
        for file, section in targets
        if section not in sections(file.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(("key", "default"), rows_of_the_configuration())
def test_a_row_of_the_configuration_table_matches_the_schema(key: str, default: str) -> None:
    schema = option(key)
    assert schema.get("description")
    if "default" in schema:
        assert default == f"`{json.dumps(schema['default'])}`".replace('"', "")
    else:
        assert default == "required"


def test_the_changelog_has_the_current_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[(?:Unreleased|{re.escape(__version__)})\]", changelog, re.MULTILINE)


def test_the_built_description_has_no_relative_links() -> None:
    setup = runpy.run_path(str(ROOT / "setup.py"))
    rewrite: Callable[[str], str] = setup["with_absolute_links"]
    targets = re.findall(r"\]\(([^)]*)\)", rewrite(README))
    assert [target for target in targets if not target.startswith("https://")] == []
    files = f"{setup['FILES']}model/README.md"
    assert rewrite("[a](model/README.md#b) [c](https://d) [e](#f)") == (
        f"[a]({files}#b) [c](https://d) [e](#f)"
    )
    # The page of a picture is no picture.
    assert rewrite("![a](docs/a.png)") == f"![a]({setup['PICTURES']}docs/a.png)"


def test_the_glossary_is_short_and_sorted_and_defines_each_term_in_a_sentence() -> None:
    rows = CONTRIBUTING.partition("## Glossary")[2].splitlines()[4:]
    entries = [row.strip("| ").split(" | ") for row in rows]
    terms = [term for term, _ in entries]
    assert 0 < len(terms) <= 40
    assert terms == sorted(set(terms))
    assert [term for term, text in entries if not re.fullmatch(r"[A-Z][^.]*\.", text)] == []
