"""Where commands read joins and keep decisions: DataHub, or joins that need no server."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

if TYPE_CHECKING:
    from datahub_hyperjoin.cli.known_joins import KnownJoins
    from datahub_hyperjoin.export import DeclaredColumns
    from datahub_hyperjoin.joins import Join, Statement, Verdict
    from datahub_hyperjoin.joins.path_search import ReadJoins
    from datahub_hyperjoin.joins.paths import PathEnd

_Function = TypeVar("_Function", bound=Callable[..., Any])

_DECISIONS = Path("decisions.csv")
_NO_FILE = "--decisions needs --in. Without it, DataHub keeps the decisions"


class JoinSource(Protocol):
    """Joins, best first, and people's decisions about them."""

    where: str
    """Where the joins are from, in words, such as `the catalog`."""

    def writes_to(self) -> Path | None:
        """Return the file that keeps the decisions; None if DataHub keeps them."""
        ...

    def joins(self, *, hidden: bool = False) -> "Sequence[Join]":
        """Return all joins; rejected and hidden ones only if asked."""
        ...

    def joins_of(
        self, dataset: str, *, hidden: bool = False, members: bool = False
    ) -> "Sequence[Join]":
        """Return the joins of a dataset by its name, with the dataset on the left.

        Those of further members of a value domain, which only columns list, only if asked.
        """
        ...

    def find_join(self, name: str) -> "Join":
        """Find a join by its URN, name or condition."""
        ...

    def find_decidable(self, name: str) -> "Join":
        """Find a join to decide about, which may be two columns that nothing joins yet."""
        return self.find_join(name)

    def find_ends(self, names: Sequence[str]) -> "list[PathEnd]":
        """Find the tables or columns that names refer to."""
        ...

    def reader(self) -> "ReadJoins":
        """Return a function that reads the joins of some tables."""
        ...

    def declared(self, joins: "Sequence[Join]") -> "DeclaredColumns":
        """Return the declared types and primary keys of joined tables."""
        ...

    def statements(self, joins: "Sequence[Join]") -> "dict[str, Statement]":
        """Return the SQL of joins, by the URN of the join."""
        ...

    def decide(
        self, joins: "Sequence[Join]", verdict: "Verdict", *, by: str | None, why: str
    ) -> None:
        """Store one decision about each of some joins; it replaces earlier ones."""
        ...

    def undo(self, join: "Join") -> "Sequence[Verdict]":
        """Remove the decisions about a join, and return them."""
        ...


def with_sources(command: _Function) -> _Function:
    """Add `--in` and `--decisions` to a command, as its arguments `sources` and `decisions`."""
    command = click.option(
        "--decisions",
        type=click.Path(path_type=Path, dir_okay=False),
        help="With --in: CSV or JSON file of accepted and rejected joins, as `hyperjoin find` "
        f"reads it.  [default: {_DECISIONS}]",
    )(command)
    return click.option(
        "--in",
        "sources",
        metavar="JOINS_OR_DATA",
        multiple=True,
        help="Where the joins are from, instead of DataHub: the joins.json of `hyperjoin find "
        "--out` or of a run with a file sink; or a folder or database, in which they are searched "
        "as by `hyperjoin find`. Data may be repeated.",
    )(command)


def with_source(command: _Function) -> _Function:
    """Add `--in` and `--decisions` to a command, which gets the opened `source`."""

    @wraps(command)
    def run(*, sources: tuple[str, ...], decisions: Path | None, **others: Any) -> None:  # noqa: ANN401 - click's
        sql = others.get("output_format") == "sql"
        with open_source(sources, decisions, sql=sql) as source:
            command(source=source, **others)

    return with_sources(run)  # type: ignore[return-value] # it takes what click passes


@contextmanager
def open_source(
    sources: Sequence[str], decisions: Path | None, *, sql: bool = False
) -> Iterator[JoinSource]:
    """Open DataHub, a file of joins, or data in which joins are searched, with `sql` if wanted."""
    # The client of DataHub takes half a second to import, and the search takes seconds.
    file = decision_file(sources, decisions)
    if not sources:
        from datahub_hyperjoin.cli.catalog_joins import CatalogJoins  # noqa: PLC0415 (as above)
        from datahub_hyperjoin.cli.connect import connected  # noqa: PLC0415

        with connected() as graph:
            yield CatalogJoins(graph)
    elif known := read_known_joins(sources, file):
        yield known
    else:
        from datahub_hyperjoin.cli.known_joins import search_joins  # noqa: PLC0415 (as above)

        yield search_joins(sources, file, sql=sql)


def decision_file(sources: Sequence[str], decisions: Path | None) -> Path:
    """Return the file of decisions about joins that are not from DataHub."""
    if decisions and not sources:
        raise click.UsageError(_NO_FILE)
    return decisions or _DECISIONS


def read_known_joins(sources: Sequence[str], decisions: Path) -> "KnownJoins | None":
    """Read the file of joins among the sources; None if they are data."""
    from datahub_hyperjoin.cli.joins_file import find_joins_file, read_joins_file  # noqa: PLC0415 (as above)

    files = [file for source in sources if (file := find_joins_file(Path(source)))]
    if files and len(sources) > 1:
        message = f"{files[0]} holds joins. Name it alone after --in"
        raise click.UsageError(message)
    if not files:
        return None
    from datahub_hyperjoin.cli.known_joins import KnownJoins  # noqa: PLC0415 (as above)

    return KnownJoins(str(files[0]), *read_joins_file(files[0]), decisions)
