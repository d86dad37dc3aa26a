"""Test that the troubleshooting guide contains every warning, error and line of the log."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from datahub_hyperjoin.errors import HyperJoinError

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
MODULES = [
    path
    for folder in ("datahub_hyperjoin", "model", "spark")
    for path in (ROOT / folder).rglob("*.py")
]

INDIRECT = {"failure.title", "title"}
"""Expressions that only pass a title on; the title itself is stated, and checked, elsewhere."""


def calls(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield all calls below a node, with the last part of the function's name."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            yield getattr(each.func, "attr", getattr(each.func, "id", "")), each


def is_titled(node: ast.AST) -> bool:
    """Return whether a class holds the title of a warning."""
    return isinstance(node, ast.ClassDef) and "title: LiteralString" in map(ast.unparse, node.body)


def titles_in(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the expressions for titles of warnings and failures."""
    for name, call in calls(tree):
        if name == "warn" and len(call.args) == 3:
            yield call.args[0]
        if name in {"warning", "failure"}:
            yield from (each.value for each in call.keywords if each.arg == "title")
    for node in filter(is_titled, ast.walk(tree)):
        yield from (call.args[0] for name, call in calls(node) if name == "cls")


def logged_in(tree: ast.Module) -> Iterator[str]:
    """Yield the first words of each warning or error that may be logged."""
    constants = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for name, call in calls(tree):
        if name in {"warning", "error"} and ast.unparse(call.func).startswith("logger."):
            text = call.args[0]
            literal = constants[text.id] if isinstance(text, ast.Name) else text
            parts = (part.strip() for part in re.split(r"%\w|`", ast.literal_eval(literal)))
            yield next(filter(None, parts))


@cache
def trees() -> list[ast.Module]:
    return [ast.parse(path.read_text("utf-8")) for path in MODULES]


def errors_of_the_package() -> set[str]:
    """Return the names of all errors that a named constructor creates."""
    for path in MODULES:
        if path.name == "errors.py":
            parts = path.relative_to(ROOT).with_suffix("").parts
            package = () if parts[0] == "datahub_hyperjoin" else ("datahub_hyperjoin",)
            import_module(".".join([*package, *parts]))
    waiting, found = [HyperJoinError], set[str]()
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        if error.__module__.startswith("datahub_hyperjoin.") and any(
            isinstance(each, classmethod) for each in vars(error).values()
        ):
            found.add(error.__name__)
    return found


def test_the_guide_has_the_title_of_every_warning() -> None:
    titles = [title for tree in trees() for title in titles_in(tree)]
    indirect = {ast.unparse(each) for each in titles if not isinstance(each, ast.Constant)}
    assert indirect == INDIRECT
    written = {each.value for each in titles if isinstance(each, ast.Constant)}
    assert len(written) > 40
    listed = {*re.findall(r"^\| `([^`]+)` \|", GUIDE.partition("## Errors")[0], re.MULTILINE)}
    assert listed == written - {"Run stopped"}
    assert "`Run stopped`" in GUIDE


def test_the_guide_has_the_type_of_every_error() -> None:
    errors = errors_of_the_package()
    assert len(errors) > 60
    assert {*re.findall(r"`(\w+Error)`", GUIDE)} == {*errors, "HyperJoinError"}


def test_the_guide_has_every_warning_of_the_log() -> None:
    lines = {line for tree in trees() for line in logged_in(tree)}
    assert len(lines) > 15
    rows = re.findall(r"^\| (`.*) \| ", GUIDE.partition("## Lines of the log")[2], re.MULTILINE)
    assert {*re.findall(r"`([^`]+)`", " ".join(rows))} == lines
