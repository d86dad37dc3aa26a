"""Test that every third-party import is a requirement of the package or of an extra for users."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FOR_DEVELOPERS = "dev"
TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
"""The TOML parser: `tomllib`, or `tomli` (installed by mypy and pytest) before Python 3.11."""
OF_EXTRAS = {"mcp-types"}
"""Packages installed with a requirement of an extra, and imported only by code for that extra."""


def imported() -> set[str]:
    """Return the third-party packages that any module imports, including imports in functions."""
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


def add_installed(written: list[str], extras: frozenset[str], seen: set[str]) -> None:
    """Add to `seen` the distributions that pip installs for the `written` requirements."""
    for requirement in map(Requirement, written):
        chosen = [{"extra": extra} for extra in extras or {""}]
        if requirement.marker and not any(map(requirement.marker.evaluate, chosen)):
            continue
        of_it = frozenset(requirement.extras)
        name = canonicalize_name(requirement.name)
        key = f"{name}{sorted(of_it)}"
        if key not in seen:
            seen |= {name, key}
            add_installed(_requirements_of(name), of_it, seen)


def _requirements_of(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # the platform does not need it
        return []


def distributions_by_package() -> dict[str, set[str]]:
    """Map each top-level package to the distributions that install files into it.

    Before Python 3.11, `packages_distributions` knew only what distributions declare, and faiss
    and scikit-learn declare nothing.
    """
    homes = defaultdict[str, set[str]](set)
    for distribution in distributions():
        name = distribution.metadata["Name"]
        for package in {path.parts[0].removesuffix(".py") for path in distribution.files or ()}:
            homes[package].add(name)
    return homes


def test_every_import_is_installed_with_the_package_or_declared_by_an_extra() -> None:
    # Not from the metadata of the installed package, which may be older than this file.
    project = TOML.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = set(OF_EXTRAS)
    add_installed(project["dependencies"], frozenset(), known)
    for extra, written in project["optional-dependencies"].items():
        if extra != FOR_DEVELOPERS:
            known |= {canonicalize_name(Requirement(each).name) for each in written}
    homes = distributions_by_package()
    missing = {
        name
        for name in imported()
        if known.isdisjoint(map(canonicalize_name, homes.get(name, [name])))
    }
    assert missing == set()
