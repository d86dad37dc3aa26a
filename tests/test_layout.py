"""The rules of the tree that no linter knows."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOP_LEVEL = {
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "constraints.txt",
    "datahub_hyperjoin",
    "ingestion_recipes",
    "model",
    "pyproject.toml",
    "spark",
    "tests",
}
PACKAGE = [
    path
    for folder in ("datahub_hyperjoin", "model", "spark")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
SOURCES = [*PACKAGE, *sorted((ROOT / "tests").rglob("*.py"))]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines of a function, its docstring aside."""
    first = function.body[0]
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or 0) - first.lineno + 1
    return lines


@pytest.mark.parametrize("folder", ["model", "spark"])
def test_a_link_leads_from_the_package_to_the_folder(folder: str) -> None:
    link = ROOT / "datahub_hyperjoin" / folder
    assert link.is_symlink(), (
        f"datahub_hyperjoin/{folder} is no link; mend it with `git config core.symlinks true && "
        f"git checkout -- datahub_hyperjoin/{folder}`"
    )
    assert link.resolve() == ROOT / folder


def test_the_top_level_is_as_agreed() -> None:
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    entries = {line.split("/")[0] for line in listing.stdout.splitlines()}
    assert {entry for entry in entries if not entry.startswith(".")} == TOP_LEVEL


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_functions_are_short(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [f"{f.name}: {length(f)}" for f in functions(tree) if length(f) > 50] == []


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_the_folders_are_imported_by_their_full_names(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    plain = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    origins = {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.split(".")[0] for module in plain | origins}.isdisjoint({"model", "spark", ""})


@pytest.mark.parametrize("path", PACKAGE, ids=name)
def test_the_package_prints_nothing(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "print" not in names
