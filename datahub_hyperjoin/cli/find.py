"""The command `hyperjoin find`, which finds joins without a recipe."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click
from typing_extensions import Unpack

from datahub_hyperjoin.cli.output import print_result, print_warnings, terminal_width
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.joins import RunSql
from datahub_hyperjoin.storage import refuse_foreign_page, replacing
from datahub_hyperjoin.wording import number_of

if TYPE_CHECKING:
    from datahub_hyperjoin.discovery import FoundJoins
    from datahub_hyperjoin.discovery.progress import RunProgress, RunWarning

_FORMATS = ("table", "json", "csv", "sql")


class _FileChoices(TypedDict):
    """The options that say how files are read."""

    separate_files: bool
    delimiter: str | None
    encoding: str | None
    header: bool
    sheet: str | None


@click.command("find")
@click.argument("sources", metavar="FOLDER_OR_URL...", nargs=-1, required=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write joins.json, joins.csv, joins.sql and joins.html to.",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write an HTML page of the joins to.",
)
@click.option(
    "--page-values",
    is_flag=True,
    help="Show up to five values of each joined column on the page, and five without a partner, "
    "except personal ones. Only the owner of the file can read it then.",
)
@click.option(
    "--decisions",
    type=click.Path(path_type=Path, dir_okay=False),
    help="CSV or JSON file of accepted and rejected joins to keep to. The page downloads it.",
)
@click.option(
    "--exclude",
    metavar="PATTERN",
    multiple=True,
    help="Table or view to leave out, by its name or the end of it, as in `audit` or "
    "`public.audit_*`. May be repeated.",
)
@click.option(
    "--separate-files",
    is_flag=True,
    help="Read each file as a table, even if names differ only in numbers or dates.",
)
@click.option(
    "--delimiter",
    metavar="CHARACTER",
    help=r"Character between the fields of text files, as in `;` or `\t`. Default: detected.",
)
@click.option(
    "--encoding",
    metavar="NAME",
    help="Encoding of text files, as in `cp1252` or `shift_jis`. Default: detected.",
)
@click.option(
    "--no-header",
    "header",
    flag_value=False,
    default=True,
    type=bool,
    help="Text files and sheets have no row with names of columns.",
)
@click.option(
    "--sheet",
    metavar="PATTERN",
    help="Sheet of workbooks to read, by its name or a pattern such as `20*`. Default: all.",
)
@click.option(
    "--all",
    "list_all",
    is_flag=True,
    help="List also joins that follow from others, such as those between two columns that refer to "
    "one key, between files of two years, or of dates.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(_FORMATS),
    default="table",
    show_default=True,
    help="Format of the output. The table lists the 25 best joins, the others list all.",
)
@click.option(
    "--run-sql",
    type=click.Choice([choice.value for choice in RunSql]),
    default=RunSql.SHOWN.value,
    show_default=True,
    help="SQL to run, so that it is tested. `shown`: of joins of files on this machine, and of the "
    "joins of a database that the table lists. The SQL of the others is written, and marked.",
)
def find_in_sources(  # noqa: PLR0913 - one for each option
    *,
    sources: tuple[str, ...],
    out: Path | None,
    page: Path | None,
    page_values: bool,
    decisions: Path | None,
    exclude: tuple[str, ...],
    list_all: bool,
    output_format: str,
    run_sql: str,
    **how: Unpack["_FileChoices"],
) -> None:
    """Find joins in folders and databases, without a recipe or a server.

    FOLDER_OR_URL is a folder of files, also in an object store as in s3://lake/sales, a database as
    in postgresql://reader@host/shop, or a file of DuckDB or SQLite. Each join is verified on the
    data.
    """
    _check_options(out, page, page_values=page_values)
    from datahub_hyperjoin.spark.memory import exempt_imports, gc_paused  # noqa: PLC0415

    with _processes():
        # They take seconds to import, which the other commands should not wait for.
        with gc_paused():
            from datahub_hyperjoin.discovery.progress import (  # noqa: PLC0415
                BarProgress,
                LineProgress,
            )
            from datahub_hyperjoin.discovery.run import choose_files, run_discovery  # noqa: PLC0415
        exempt_imports()

        # Running the SQL takes as long as all else, and the table does not show it.
        sql = RunSql(run_sql) if out or page or output_format != "table" else None
        progress = BarProgress(sql=bool(sql)) if sys.stderr.isatty() else LineProgress()
        pages = [*filter(None, [page, out and out / "joins.html"])]
        with _explained(progress):
            # Nobody should wait for a run to be told; `to_html` refuses one that appears meanwhile.
            for path in pages:
                refuse_foreign_page("--page" if path == page else "--out", path)
            with _folders([*filter(None, [out, page and page.parent])]):
                how["delimiter"] = _character(how["delimiter"])
                files = choose_files(**how)
                search = partial(run_discovery, decisions=decisions, exclude=exclude, files=files)
                found = search(sources, progress, sql=sql, list_all=list_all)
                if out:
                    _write_formats(found, out)
                for path in pages:
                    found.to_html(path, values=page_values)
                    click.echo(f"All joins, with their evidence: {path}", err=True)
        print_result(_format(found, output_format), nl=output_format == "table")
        _tell_what_is_missing(found)


def _write_formats(found: "FoundJoins", out: Path) -> None:
    for name in ("json", "csv", "sql"):
        with replacing(out / f"joins.{name}", private=False) as file:
            file.write_text(_format(found, name), encoding="utf-8")


def _character(written: str | None) -> str | None:
    r"""Return a character that may be written as in `\t` or `\x01`."""
    is_escaped = written is not None and len(written) > 1 and written.startswith("\\")
    with suppress(UnicodeDecodeError):
        return written.encode().decode("unicode_escape") if written and is_escaped else written
    return written


@contextmanager
def _processes() -> Iterator[None]:
    """Start the first process for a `with` block, and end all processes after it."""
    from datahub_hyperjoin.spark.processes import end_processes, start_first_process  # noqa: PLC0415

    try:
        start_first_process()
        yield
    finally:
        end_processes()


@contextmanager
def _explained(progress: "RunProgress") -> Iterator[None]:
    """Tell people in a sentence why a run fails, or its files cannot be written."""
    try:
        yield
    except HyperJoinError:
        _tell_warnings(progress.warnings)  # perhaps they say why there is no table
        raise
    except OSError as error:
        if not error.filename:
            raise  # of the output
        message = f"{error.filename} cannot be written: {error.strerror}. Name another path"
        raise click.ClickException(message) from error


def _check_options(out: Path | None, page: Path | None, *, page_values: bool) -> None:
    if page_values and not (page or out):
        message = "--page-values needs a page: add --page or --out"
        raise click.UsageError(message)
    if out and out.suffix[1:] in _FORMATS:
        message = (
            f"--out names a folder, and {out.name} looks like a file. Name a folder, or write "
            f"`--format {out.suffix[1:]} > {out.name}`"
        )
        raise click.UsageError(message)


@contextmanager
def _folders(folders: Sequence[Path]) -> Iterator[None]:
    """Create folders for a `with` block; if it fails, remove those of the new ones that are empty.

    Ctrl-C counts as a failure, too.
    """
    missing = [
        each for folder in folders for each in (folder, *folder.parents) if not each.exists()
    ]
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # it holds something by now, or could not be created
                folder.rmdir()
        raise


def _format(found: "FoundJoins", output_format: str) -> str:
    from datahub_hyperjoin.discovery import records  # noqa: PLC0415 (as above)

    if output_format == "table":
        return found.as_text(terminal_width())
    write = {
        "json": records.records_as_json,
        "csv": records.records_as_csv,
        "sql": records.records_as_sql,
    }
    return write[output_format]([*found.records(), *found.declared_records()])


def _tell_what_is_missing(found: "FoundJoins") -> None:
    """Print to standard error how many tables were read, which SQL was not run, and warnings."""
    from datahub_hyperjoin.discovery.records import count_unrun  # noqa: PLC0415 (as above)

    click.echo(f"Read {number_of(len(found.tables), 'table')}.", err=True)
    if found.findings.statements and (unrun := count_unrun(found.records())):
        click.echo(unrun, err=True)
    _tell_warnings(found.warnings)


def _tell_warnings(warnings: "Sequence[RunWarning]") -> None:
    print_warnings([f"{warning.title}: {warning.context}" for warning in warnings])
    if any(warning.title == "Files not read" for warning in warnings):
        click.echo(
            "To read tables from files of other kinds, save them as CSV or Parquet.", err=True
        )
