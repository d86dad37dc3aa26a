"""Test that every configuration field has a description, and that no file has a to-do marker.

Ruff checks that modules, classes and functions have docstrings (D).
"""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FIELD_FILES = [
    *(
        path
        for folder in ("datahub_hyperjoin", "model", "spark")
        for pattern in ("**/config.py", "config/*.py")
        for path in sorted((ROOT / folder).glob(pattern))
    ),
]


def public_classes(node: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Yield the public classes of a module, including nested classes."""
    for child in node.body:
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield child
            yield from public_classes(child)


def undocumented_fields(node: ast.ClassDef, described: set[str]) -> Iterator[str]:
    """Yield the fields without a description.

    Fields whose type describes itself need none.

    A description is a string below the field, or the `description` of a pydantic field.
    """
    for field, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        if isinstance(field, ast.AnnAssign) and ast.unparse(field.annotation) not in described:
            has_string = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not has_string and "description=" not in ast.unparse(field):
                yield f"{node.name}.{ast.unparse(field.target)}"


def test_every_field_is_documented() -> None:
    classes = {
        path: list(public_classes(ast.parse(path.read_text(encoding="utf-8"))))
        for path in FIELD_FILES
    }
    described = {node.name for nodes in classes.values() for node in nodes}
    undocumented = [
        f"{path.relative_to(ROOT)}: {field}"
        for path, nodes in classes.items()
        for node in nodes
        for field in undocumented_fields(node, described)
    ]
    assert undocumented == []


def test_no_file_has_a_marker_for_later_work() -> None:
    search = ["git", "grep", "-n", "-w", "-I", "-E", "TO[D]O|FIX[M]E"]
    matches = subprocess.run(search, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (matches.stdout, matches.stderr) == ("", "")
