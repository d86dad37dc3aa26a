"""Check that no public name is defined in two modules of the package.

A class, function or constant that two modules define under one name forces every reader to look up
which of them is meant. Names that start with an underscore are private and may repeat.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("datahub_hyperjoin", "model", "spark")
ALLOWED = {"logger"}  # each module has its own, by the convention of `logging`


def defined_names(module: ast.Module) -> Iterator[str]:
    """Yield the names of the classes, functions and constants at a module's top level."""
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def duplicates(root: Path) -> dict[str, list[str]]:
    """Find public names that several modules define.

    `rglob` does not follow the links `datahub_hyperjoin/model` and `datahub_hyperjoin/spark`, so
    each module counts once.
    """
    modules: dict[str, set[str]] = defaultdict(set)
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.py"):
            for name in defined_names(ast.parse(path.read_text(encoding="utf-8"))):
                if not name.startswith("_") and name not in ALLOWED:
                    modules[name].add(path.relative_to(root).as_posix())
    return {name: sorted(paths) for name, paths in sorted(modules.items()) if len(paths) > 1}


def main(root: Path) -> None:
    """Exit with an error message if several modules define the same public name."""
    lines = [f"{name} is defined in {', '.join(paths)}" for name, paths in duplicates(root).items()]
    if lines:
        sys.exit("\n".join([*lines, "Rename all but one, or import one definition everywhere."]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT)
