"""Read the list of public sources, with the commit, licence and split of each."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath

from benchmarks.school.errors import SourceError
from benchmarks.school.forbidden import check_allowed

SOURCES = Path(__file__).with_name("sources.csv")


class Kind(Enum):
    """The format in which a source stores its database."""

    CLDF = "cldf"
    DJANGO = "django"
    FRICTIONLESS = "frictionless"
    HEADERS = "headers"
    SQL = "sql"
    SQLITE = "sqlite"
    TABLES = "tables"


class Split(Enum):
    """The use of a source: training or validation."""

    TRAIN = "train"
    VALIDATION = "validation"


@dataclass(frozen=True)
class Source:
    """A public repository at a fixed commit."""

    name: str
    """Owner and name of the repository."""

    commit: str
    licence: str
    kind: Kind
    path: str
    """Patterns of the files to read, separated by spaces."""

    split: Split

    @property
    def database(self) -> str:
        """Name of the database.

        It contains the name of the file if the repository may hold several databases.
        """
        several = {"*", " "} & {*self.path}
        return self.name if several else f"{self.name}/{PurePosixPath(self.path).stem}"

    @property
    def row(self) -> dict[str, str]:
        """The facts about a source that a lake's README shows."""
        return {"source": self.database, "commit": self.commit, "licence": self.licence}


def read_sources(path: Path = SOURCES) -> list[Source]:
    """Read the list of sources, and check it.

    Args:
        path: A CSV file.

    Raises:
        SourceError: A source is forbidden, an author is in both splits, or a kind or split is
            unknown.
    """
    with path.open(encoding="utf-8", newline="") as file:
        sources = [_source(row) for row in csv.DictReader(file)]
    _check_disjoint(sources)
    return sources


def _source(row: dict[str, str]) -> Source:
    name = row["source"]
    check_allowed(name)
    for path in row["path"].split():
        check_allowed(f"{name}/{path}")
    try:
        kind = Kind(row["kind"])
        split = Split(row["split"])
    except ValueError as error:
        known = ", ".join(one.value for one in (*Kind, *Split))
        value = f"{row['kind']} {row['split']}"
        raise SourceError.unknown_value(name, "its kind or split", value, known) from error
    return Source(name, row["commit"], row["licence"], kind, row["path"], split)


def _check_disjoint(sources: Sequence[Source]) -> None:
    splits: dict[str, Split] = {}
    for source in sources:
        author = source.name.partition("/")[0].lower()
        if splits.setdefault(author, source.split) != source.split:
            raise SourceError.in_both(author)
