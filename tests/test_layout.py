"""Test rules of the source tree that no linter checks.

Ruff checks the others: docstrings (D), imports of `model` and `spark` by their full names (TID251),
absolute imports (TID252) and no printing in the package (T20).
"""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE_FOLDERS = ("datahub_hyperjoin", "model", "spark")
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 50
TOP_LEVEL = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "MANIFEST.in",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "constraints.txt",
    "datahub_hyperjoin",
    "docs",
    "ingestion_recipes",
    "model",
    "pyproject.toml",
    "setup.py",
    "spark",
    "tests",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> Iterator[tuple[str, str]]:
    """Yield the relative path and the text of each Python file of the project."""
    for folder in (*PACKAGE_FOLDERS, "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def statements(text: str) -> Iterator[ast.stmt]:
    """Yield the statements of a module, at any depth.

    Expressions, which are most of the tree, are left out.
    """
    found: list[ast.AST] = [ast.parse(text)]
    while found:
        node = found.pop()
        if isinstance(node, ast.stmt):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            found += getattr(node, name, ())


def functions(text: str) -> Iterator[Function]:
    return (node for node in statements(text) if isinstance(node, Function))


def length(function: Function) -> int:
    """Count the lines of a function, except its docstring."""
    first = function.body[0]
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or 0) - first.lineno + 1
    return lines


@pytest.mark.parametrize("folder", ["model", "spark"])
def test_the_package_links_to_the_folder(folder: str) -> None:
    link = ROOT / "datahub_hyperjoin" / folder
    assert link.is_symlink(), (
        f"datahub_hyperjoin/{folder} is not a symbolic link. Restore it with "
        f"`git config core.symlinks true && git checkout -- datahub_hyperjoin/{folder}`"
    )
    assert link.resolve() == ROOT / folder


def test_the_top_level_has_only_the_agreed_entries() -> None:
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    entries = {line.split("/")[0] for line in listing.stdout.splitlines()}
    assert {entry for entry in entries if not entry.startswith(".")} == TOP_LEVEL


def test_files_are_short() -> None:
    lengths = {path: len(text.splitlines()) for path, text in sources()}
    assert lengths
    assert {path: n for path, n in lengths.items() if n > MAX_FILE_LINES} == {}


def test_functions_are_short() -> None:
    long_functions = [
        f"{path}:{function.lineno} {function.name}: {length(function)} lines"
        for path, text in sources()
        for function in functions(text)
        if length(function) > MAX_FUNCTION_LINES
    ]
    assert long_functions == []


def test_errors_are_defined_in_modules_called_errors() -> None:
    """Ignore private errors and errors in test modules, because no other module uses them."""
    offenders = [
        f"{path}:{node.lineno} {node.name}"
        for path, text in sources()
        if not Path(path).name.startswith(("errors.py", "test_"))
        for node in statements(text)
        if isinstance(node, ast.ClassDef)
        if node.name.endswith("Error") and not node.name.startswith("_")
    ]
    assert offenders == []
