"""Whatever has a public name says what it is for, and nothing is left for later."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = [
    path
    for folder in ("datahub_hyperjoin", "model", "spark")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
FIELDS = [
    "datahub_hyperjoin/tables.py",
    "model/config/sections.py",
    "model/config/language_model.py",
    "spark/config.py",
]

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def public(node: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    """The public classes and functions of a module, and those inside the classes."""
    for child in node.body:
        if isinstance(child, Definition) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public(child)


def undocumented_fields(node: ast.ClassDef, described: set[str]) -> Iterator[str]:
    """The public fields that no string follows and whose type does not describe itself."""
    for field, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        if isinstance(field, ast.AnnAssign) and ast.unparse(field.annotation) not in described:
            has_string = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not has_string:
                yield f"{node.name}.{ast.unparse(field.target)}"


@pytest.mark.parametrize("path", PACKAGE, ids=name)
def test_everything_public_is_documented(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module has no docstring"
    assert [node.name for node in public(tree) if not ast.get_docstring(node)] == []


@pytest.mark.parametrize("path", FIELDS)
def test_every_field_is_documented(path: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    classes = [node for node in public(tree) if isinstance(node, ast.ClassDef)]
    described = {node.name for node in classes}
    fields = [field for node in classes for field in undocumented_fields(node, described)]
    assert fields == []


def test_nothing_is_left_for_later() -> None:
    search = ["git", "grep", "-n", "-w", "-I", "-E", "TO[D]O|FIX[M]E"]
    found = subprocess.run(search, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr) == ("", "")
