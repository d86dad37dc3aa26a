"""Copy the tables of the listed lakes out of public repositories."""

import csv
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.read_lakes.errors import ChangedLakeError
from benchmarks.school.forbidden import check_allowed
from benchmarks.school.repository import Repository, open_repository
from benchmarks.school.sql import read_sql

LAKES = Path(__file__).with_name("lakes.csv")

_ROWS = 1_000_000
"""Maximum number of rows of a table, which none exceeds."""


@dataclass(frozen=True)
class PublicLake:
    """A public repository at a fixed commit, whose tables are a lake."""

    lake: str
    source: str
    """Owner and name of the repository."""

    commit: str
    licence: str
    form: str
    """`files` are copied; the rows of the tables in `sql` scripts are written as CSV."""

    path: str
    """Patterns of the files, separated by spaces."""

    sha256: str
    """Hash of the names and contents of all tables."""


def read_public_lakes(path: Path = LAKES) -> list[PublicLake]:
    """Read the list of lakes, none of which may have taught or judged before."""
    with path.open(encoding="utf-8", newline="") as file:
        lakes = [PublicLake(**row) for row in csv.DictReader(file)]
    for lake in lakes:
        check_allowed(lake.source)
    return lakes


def make_lake(lake: PublicLake, out: Path, *, cache: Path, mirror: Path | None) -> Path:
    """Write the tables of a lake into a folder of its name.

    Args:
        lake: The lake.
        out: Folder of all lakes.
        cache: Folder of cloned repositories.
        mirror: Folder that holds repositories, and is only read.

    Raises:
        ChangedLakeError: The tables are not those that were read.
    """
    repository = open_repository(lake.source, lake.commit, cache=cache, mirror=mirror)
    hashed = hashlib.sha256()
    for name, content in sorted(_tables(lake, repository)):
        file = out / lake.lake / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        hashed.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    if hashed.hexdigest() != lake.sha256:
        raise ChangedLakeError.hashed(lake.lake, hashed.hexdigest(), lake.sha256)
    return out / lake.lake


def _tables(lake: PublicLake, repository: Repository) -> Iterator[tuple[str, bytes]]:
    if lake.form == "sql":
        for name, frame in read_sql(repository, lake.path, rows=_ROWS).tables.items():
            if len(frame):
                yield f"{name}.csv", frame.to_csv(index=False).encode()
        return
    for path in repository.matching(lake.path):
        content = repository.read(path)
        if content:  # files of 4 MiB and more are left out, since some mirrors lack them
            yield path, content
