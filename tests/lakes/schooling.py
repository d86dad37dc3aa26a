"""Make sources of training lakes: a small dataset, a git repository and a list of sources."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from benchmarks.school.cldf import read_cldf
from benchmarks.school.combine import combine
from benchmarks.school.database import Database
from benchmarks.school.lake import SchoolLake
from benchmarks.school.repository import Repository

LANGUAGES = 12


FORMS = 60


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows(header: str, *lines: str) -> str:
    return "\n".join([header, *lines, ""])


def dataset() -> dict[str, str]:
    """Return the files of a small dataset of languages, word forms and examples."""
    names = [f"Language of {chr(65 + n) * 3}" for n in range(LANGUAGES)]
    metadata = {
        "tables": [
            table("languages.csv", ("ID", "Name", "Glottocode")),
            table("senses.csv", ("ID", "Name", "Field")),
            table("forms.csv", ("ID", "Language_ID", "Form"), {"Language_ID": "languages.csv"}),
            table(
                "examples.csv",
                ("ID", "Language_ID", "Form_IDs"),
                {"Language_ID": "languages.csv", "Form_IDs": "forms.csv"},
                lists={"Form_IDs": ";"},
            ),
        ]
    }
    return {
        "cldf/Generic-metadata.json": json.dumps(metadata),
        "cldf/languages.csv": rows(
            "ID,Name,Glottocode",
            *(f"lang{chr(97 + n)},{name},abcd1234" for n, name in enumerate(names)),
        ),
        "cldf/senses.csv": rows(
            "ID,Name,Field",
            *(f"{n},{chr(97 + n % 26)}{chr(97 + n // 26)} meaning,field" for n in range(130)),
        ),
        "cldf/forms.csv": rows(
            "ID,Language_ID,Form",
            *(f"f{n},lang{chr(97 + n % LANGUAGES)},word{n}" for n in range(FORMS)),
        ),
        "cldf/examples.csv": rows(
            "ID,Language_ID,Form_IDs",
            *(f"e{n},lang{chr(97 + n % 5)},f{n}; f{n + 1}" for n in range(20)),
        ),
    }


def table(
    url: str,
    columns: tuple[str, ...],
    keys: Mapping[str, str] | None = None,
    *,
    lists: Mapping[str, str] | None = None,
) -> dict[str, object]:
    described = [
        {"name": name, **({"separator": lists[name]} if lists and name in lists else {})}
        for name in columns
    ]
    declared = [
        {"columnReference": [key], "reference": {"resource": target, "columnReference": ["ID"]}}
        for key, target in (keys or {}).items()
    ]
    return {"url": url, "tableSchema": {"columns": described, "foreignKeys": declared}}


def commit(folder: Path, files: Mapping[str, str | bytes]) -> str:
    """Make a git repository of some files, and return its commit id."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def named_joins(lake: SchoolLake) -> set[tuple[str, str, str]]:
    return {(str(one.query), str(one.candidate), one.kind) for one in lake.truth}


def sources(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "sources.csv"
    path.write_text(rows("source,commit,licence,kind,path,split", *lines), encoding="utf-8")
    return path


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    folder = tmp_path / "small"
    made = commit(folder, dataset())
    return Repository("owner/small", folder / ".git", made)


@pytest.fixture
def database(repository: Repository) -> Database:
    return read_cldf(repository, "cldf/*-metadata.json")


@pytest.fixture
def lake(database: Database) -> SchoolLake:
    return combine([database], random())
