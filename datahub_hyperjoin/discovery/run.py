"""Find joins without a recipe or a server.

The run has the stages of `datahub ingest`, and starts Spark only for large lakes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

from datahub_hyperjoin.catalog.catalog import Catalog, build_catalog_without_server
from datahub_hyperjoin.catalog.databases import read_database_keys
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.decision_file import WrittenDecision
from datahub_hyperjoin.discovery.errors import UnknownChoiceError
from datahub_hyperjoin.discovery.progress import BarProgress, LineProgress, RunProgress
from datahub_hyperjoin.discovery.result import FoundJoins
from datahub_hyperjoin.discovery.sources import AS_DETECTED, Source, copy_views, list_sources
from datahub_hyperjoin.find import FindConfig, LakeComparison, SqlConfig, compare, find
from datahub_hyperjoin.joins import RunSql
from datahub_hyperjoin.locations import FileOptions
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.config.sections import require_extras
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.session import Session, lazy_session
from datahub_hyperjoin.storage import temporary_folder

Decisions = str | Path | Sequence[WrittenDecision] | None
"""A file of decisions, or the decisions of an earlier result."""


def find_joins(  # noqa: PLR0913 - one for each choice
    *sources: Source,
    sql: bool | Literal["shown", "all", "none"] = "shown",
    progress: bool = False,
    profile: ProfileConfig | None = None,
    model: ModelConfig | None = None,
    decisions: Decisions = None,
    exclude: Sequence[str] = (),
    separate_files: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    sheet: str | None = None,
    list_all: bool = False,
) -> FoundJoins:
    """Find the columns that join with each other, and verify each join on the data.

    Up to 512 MiB of files and database tables are read by processes of this program. Larger lakes
    are read by Spark, which needs Java. Nothing is written, and nothing leaves this machine.

    Args:
        *sources: Folders, URLs of databases, files of DuckDB and SQLite, and dicts of data frames
            of pandas, Polars, Arrow or Spark by their names.
        sql: Which SQL to run, to test it: `"shown"`, that of files on this machine and, in
            databases and Spark catalogs, that of the joins that are listed first; `"all"`; or
            `"none"`, which only writes it. `False` writes no SQL at all; `True` means `"shown"`.
        progress: Whether to show the stages of the run on standard error.
        profile: How much of each table to read, as in a recipe.
        model: How to rank, as in a recipe.
        decisions: CSV or JSON file of accepted and rejected joins, to which the result adds those
            that you make; or `decisions` of an earlier result.
        exclude: Names of tables and views to leave out, or patterns such as `public.audit_*`; the
            last part of a name suffices.
        separate_files: Whether files are tables of their own that would be one table, because their
            names differ in numbers or dates and their columns are equal.
        delimiter: Character between the fields of text files, if it is not detected.
        encoding: Python's name of the encoding of text files, if it is not detected.
        header: Whether text files and sheets have the names of columns in their first row.
        sheet: Name of the sheet of workbooks to read, or a pattern such as `20*`.
        list_all: Whether to list also joins that follow from others, such as those between two
            columns that refer to one key, between files of two years, or of dates.

    Returns:
        The joins, best first.

    Raises:
        HyperJoinError: A source cannot be used, or no table has values.
        UnknownChoiceError: `sql` is none of the choices, or an option of files is none that Python
            knows.

    Examples:
        >>> import pandas as pd
        >>> orders = pd.DataFrame({"id": range(9), "customer": [f"C{at % 3}" for at in range(9)]})
        >>> customers = pd.DataFrame({"id": ["C0", "C1", "C2"], "name": ["Ann", "Bo", "Cy"]})
        >>> found = find_joins({"orders": orders, "customers": customers})
        >>> [(str(join.referring), str(join.referenced)) for join in found]
        [('orders.customer', 'customers.id')]
    """
    shown = LineProgress() if progress else RunProgress()
    return run_discovery(
        sources,
        shown,
        sql=_read_choice(sql),
        profile=profile,
        model=model,
        list_all=list_all,
        decisions=decisions,
        exclude=[exclude] if isinstance(exclude, str) else exclude,
        files=choose_files(
            separate_files=separate_files,
            delimiter=delimiter,
            encoding=encoding,
            header=header,
            sheet=sheet,
        ),
    )


def choose_files(
    *,
    separate_files: bool,
    delimiter: str | None,
    encoding: str | None,
    header: bool,
    sheet: str | None,
) -> TableSelection:
    """Return how the files of folders are read, of which all have the same options."""
    try:
        options = FileOptions(delimiter=delimiter, encoding=encoding, header=header, sheet=sheet)
    except ValueError as error:
        raise UnknownChoiceError.of_files(str(error)) from None
    return replace(AS_DETECTED, separate_files=separate_files, options=(options,))


def _read_choice(sql: bool | str) -> RunSql | None:  # noqa: FBT001 - what `find_joins` is given
    if sql is False:
        return None
    choices = [choice.value for choice in RunSql]
    if sql is not True and sql not in choices:
        raise UnknownChoiceError.of_sql(sql, choices=choices)
    return RunSql.SHOWN if sql is True else RunSql(sql)


def run_discovery(  # noqa: PLR0913 - one for each argument of `find_joins`
    sources: Sequence[Source],
    progress: RunProgress,
    *,
    sql: RunSql | None = RunSql.SHOWN,
    profile: ProfileConfig | None = None,
    model: ModelConfig | None = None,
    list_all: bool = False,
    decisions: Decisions = None,
    exclude: Sequence[str] = (),
    files: TableSelection = AS_DETECTED,
) -> FoundJoins:
    """Find joins as `find_joins` does, and report progress to the given object.

    Args:
        sql: The joins whose SQL is run; None if no SQL is written.
        files: How the files of folders are read.
    """
    written = _read_decisions(decisions, progress)
    profile, model = profile or ProfileConfig(), model or ModelConfig()
    if list_all:
        model = replace(model, ranking=replace(model.ranking, list_all=True))
    require_extras(model)
    # The files of several sources have no folder in which one could name them.
    folder = None if len(sources) == 1 else Path("/")
    config = FindConfig(
        profile=profile,
        model=model,
        sql=SqlConfig(run=sql, folder=folder) if sql else None,
        spares_spark=True,
    )
    bar = progress.shown() if isinstance(progress, BarProgress) else nullcontext()
    with bar, _opened(sources, progress, written, exclude, files) as (catalog, session):
        findings = find(catalog, config, progress, session)
    file = Path(decisions).absolute() if isinstance(decisions, str | Path) else None
    warnings = tuple(progress.warnings)
    return FoundJoins(findings, warnings, catalog.filed, file, keeps_values=profile.keep_values)


def compare_sources(
    sources: Sequence[Source],
    progress: RunProgress,
    model: ModelConfig,
    written: Sequence[WrittenDecision] = (),
) -> tuple[LakeComparison, CatalogFacts]:
    """Find joins in data sources; return them with intermediate results and declared keys."""
    with _opened(sources, progress, written) as (catalog, session):
        return compare(catalog, FindConfig(model=model, spares_spark=True), progress, session)


@contextmanager
def _opened(
    sources: Sequence[Source],
    progress: RunProgress,
    written: Sequence[WrittenDecision] = (),
    exclude: Sequence[str] = (),
    files: TableSelection = AS_DETECTED,
) -> Iterator[tuple[Catalog, Session]]:
    """List the tables of all sources, of which some are copied for the `with` block."""
    with temporary_folder() as copies, lazy_session(SessionConfig()) as session:
        with progress.stage("Listing tables"):
            tables = list_sources(sources, copies, progress, exclude, files)
            catalog = build_catalog_without_server(tables, written, progress.warn)
            keys = read_database_keys(tables, progress.warn)
            tables = copy_views(tables, copies, progress.say)
        yield replace(catalog, tables=tables, facts=catalog.facts.declaring(keys)), session


def _read_decisions(decisions: Decisions, progress: RunProgress) -> tuple[WrittenDecision, ...]:
    if isinstance(decisions, str | Path):
        # It imports DataHub's URNs, which runs without decisions need not.
        from datahub_hyperjoin.catalog.filed_decisions import read_written_decisions  # noqa: PLC0415

        return read_written_decisions(Path(decisions), progress.warn)
    numbered = enumerate(decisions or (), start=1)
    return tuple(replace(each, place=f"decision {number}") for number, each in numbered)
