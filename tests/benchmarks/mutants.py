"""Change single expressions of the package at random, and count which changes the tests notice.

`PYTHONPATH=tests python -m benchmarks.mutants --count 60 COMMIT...` draws 60 expressions from
each commit, changes one at a time (DeMillo et al., 1978), and runs the tests of its folder. The
share of changes that make a test fail, compared between two commits, shows whether
tests that went took an assertion with them.
"""

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

ROOT = Path(__file__).parents[2]
_FOLDERS = ("datahub_hyperjoin", "model", "spark")
_SECONDS = 300
"""Time for the tests of one change. A change that makes them take longer is noticed, too."""
_OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


class Mutant(NamedTuple):
    """One changed expression."""

    file: str
    line: int
    before: str
    after: str
    text: str
    """The whole file with the change."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} → {self.after}"


def mutants(file: str, text: str) -> Iterator[Mutant]:
    """Yield a file with each of its expressions changed that has an opposite."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node in _expressions(ast.parse(text)):
        before = ast.unparse(node)
        changed = _change(node)
        if changed is None:
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        whole = text.encode()
        after = ast.unparse(changed)
        new = whole[:begin] + f"({after})".encode() + whole[end:]
        yield Mutant(file, node.lineno, before[:60], after[:60], new.decode())


def _expressions(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the expressions in functions, except annotations and f-strings."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo: list[ast.AST] = [*function.body]
            while todo:
                node = todo.pop()
                if isinstance(node, (ast.JoinedStr, ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                if isinstance(node, ast.AnnAssign):
                    todo += [node.value] if node.value else []
                    continue
                if isinstance(node, ast.expr):
                    yield node
                todo += ast.iter_child_nodes(node)


def _change(node: ast.expr) -> ast.expr | None:
    """Return the opposite of an expression; None if it has none."""
    changed: ast.expr | None = None
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=others):
            changed = ast.Compare(left, [_OPPOSITES[type(operator)]()], others)  # type: ignore[list-item]
        case ast.BoolOp(op=operator, values=values):
            changed = ast.BoolOp(_OPPOSITES[type(operator)](), values)  # type: ignore[arg-type]
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as operator):
            changed = ast.BinOp(left, _OPPOSITES[type(operator)](), node.right)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            changed = operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            changed = ast.IfExp(test, orelse, body)
        case ast.Constant(value=bool() as value):
            changed = ast.Constant(not value)
        case ast.Constant(value=int() as value):
            changed = ast.Constant(value + 1)
        case _:
            pass
    return changed


def draw(root: Path, count: int, seed: int) -> list[Mutant]:
    """Draw changes of the package, each expression as likely as any other."""
    every = [
        mutant
        for folder in _FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
        for mutant in mutants(path.relative_to(root).as_posix(), path.read_text("utf-8"))
    ]
    return random.Random(seed).sample(every, count)  # noqa: S311 (no secret)


def choose_tests(root: Path, file: str) -> list[Path]:
    """Return the tests of the folder that a file is in; of a file outside folders, its own."""
    path = Path(file)
    top, *within = path.parts
    room = Path(root, "tests", *([] if top == "datahub_hyperjoin" else [top]), *within[:-1])
    own = room / f"test_{path.stem}.py"
    if within[1:] and room.is_dir():
        return [room]
    return [own] if own.exists() else sorted(room.glob("test_*.py"))


def is_noticed(root: Path, mutant: Mutant) -> bool:
    """Return whether a test fails with a change, or takes too long."""
    path = root / mutant.file
    whole = path.read_text("utf-8")
    path.write_text(mutant.text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-m", "not slow"]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *choose_tests(root, mutant.file)],
            env=environment,
            cwd=root,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(whole, "utf-8")
    if done.returncode not in {0, 1}:
        message = f"{mutant}: the tests did not run: {done.stdout[-500:]!r}"
        raise RuntimeError(message)
    return bool(done.returncode)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the changes that no test noticed, and the share of the others, for each commit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="+", help="the commits to compare")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rows = []
    for commit in options.commits:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name, "code")
            git = ["git", "-C", str(ROOT), "worktree"]
            subprocess.run([*git, "add", "--quiet", "--detach", root, commit], check=True)
            try:
                drawn = draw(root, options.count, options.seed)
                left = [mutant for mutant in drawn if not is_noticed(root, mutant)]
            finally:
                subprocess.run([*git, "remove", "--force", root], check=True)
        print(*(f"{commit}: not noticed: {mutant}" for mutant in left), sep="\n", flush=True)
        rows.append((commit, len(drawn), f"{1 - len(left) / len(drawn):.0%}"))
    print(tabulate(rows, headers=["commit", "changes", "noticed"]))


if __name__ == "__main__":
    main()
