"""Write a lake as files, in the format that `hyperjoin evaluate` reads."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.school.lake import SchoolLake

README = "README.md"


def write_lake(lake: SchoolLake, folder: Path, about: str) -> None:
    """Write a lake into a temporary folder, and move it into place when it is complete.

    Args:
        lake: The lake.
        folder: Its folder; an older one of this name is replaced.
        about: Text of its README.
    """
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    for name, frame in lake.tables.items():
        file = part / "tables" / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        frame.to_csv(file, index=False)
    _write(part, "queries", ("table", "column"), lake.queries)
    truth = [(*one.query, *one.candidate, one.kind) for one in lake.truth]
    names = ("query_table", "query_column", "candidate_table", "candidate_column", "kind")
    _write(part, "ground_truth", names, truth)
    directed = [(*one.origin, *one.target, one.direction) for one in lake.references]
    columns = ("from_table", "from_column", "to_table", "to_column")
    _write(part, "references", (*columns, "direction"), directed)
    _write(part, "declared", columns, [(*one, *other) for one, other in lake.declared])
    neutral = [(str(at), *one) for at, group in enumerate(lake.neutral) for one in group]
    _write(part, "neutral", ("group", "table", "column"), neutral)
    _write(part, "provenance", ("table", "database"), sorted(lake.origins.items()))
    (part / README).write_text(about, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


def describe(name: str, lake: SchoolLake, rows: Iterable[Mapping[str, str]], how: str) -> str:
    """Describe a lake in Markdown, for its README.

    Args:
        name: Its name.
        lake: The lake.
        rows: Its sources, as rows of the list.
        how: How it was made, in a sentence.
    """
    lines = [
        f"# {name}",
        "",
        how,
        "",
        f"{len(lake.tables)} tables, {len(lake.queries)} queries, {len(lake.truth)} joins.",
        "",
        "| source | commit | licence |",
        "|---|---|---|",
    ]
    lines += [f"| {row['source']} | {row['commit'][:12]} | {row['licence']} |" for row in rows]
    return "\n".join([*lines, ""])


def _write(folder: Path, name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    frame = pd.DataFrame(list(rows), columns=list(columns))
    frame.to_csv(folder / f"{name}.csv", index=False)
