"""Test that whatever the package imports is installed with it, not only for its developers."""

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OURS = "datahub-hyperjoin"
FOR_DEVELOPERS = "dev"


def imported() -> set[str]:
    """Return the third-party packages that any module imports, also within functions."""
    names = {
        name.partition(".")[0]
        for folder in ("datahub_hyperjoin", "model", "spark")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _names(node)
    }
    return names - sys.stdlib_module_names - {"datahub_hyperjoin"}


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module


def installed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> None:
    """Add to `seen` what pip installs with a distribution."""
    if (name, extras) in seen:
        return
    seen.add((name, extras))
    try:
        written = requires(name) or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, written):
        chosen = [{"extra": extra} for extra in extras or {""}]
        if not requirement.marker or any(map(requirement.marker.evaluate, chosen)):
            installed(canonicalize_name(requirement.name), frozenset(requirement.extras), seen)


def declared() -> Iterator[str]:
    """Yield what the package itself requires, in an extra for users or without one."""
    for requirement in map(Requirement, requires(OURS) or []):
        if f'extra == "{FOR_DEVELOPERS}"' not in str(requirement.marker):
            yield canonicalize_name(requirement.name)


def test_every_import_is_installed_with_the_package_or_declared_by_an_extra() -> None:
    seen: set[tuple[str, frozenset[str]]] = set()
    installed(OURS, frozenset(), seen)
    known = {name for name, _ in seen} | {*declared()}
    homes = packages_distributions()
    missing = {
        name
        for name in imported()
        if known.isdisjoint(map(canonicalize_name, homes.get(name, [name])))
    }
    assert missing == set()
