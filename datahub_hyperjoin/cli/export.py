"""The command `hyperjoin export`, which writes joins for other tools."""

from collections.abc import Sequence
from pathlib import Path

import click

from datahub_hyperjoin.cli.output import print_result
from datahub_hyperjoin.cli.sources import JoinSource, with_source
from datahub_hyperjoin.export import (
    ExportFormat,
    export_joins,
    precede_with_checksum,
    word_reasons,
    write_export,
)
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.wording import name_some, number_of


@click.command("export")
@click.option(
    "--format",
    "format_name",
    type=click.Choice([export_format.value for export_format in ExportFormat]),
    required=True,
    help="The tool that reads the output.",
)
@click.option(
    "--dataset",
    "datasets",
    metavar="URN_OR_NAME",
    multiple=True,
    help="Only joins of this dataset, in either direction; may be repeated. All by default.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; by default, the output goes to the terminal. A file that people wrote or "
    "edited is not replaced.",
)
@with_source
def write_joins(
    *, source: JoinSource, format_name: str, datasets: tuple[str, ...], out: Path | None
) -> None:
    """Write joins for semantic layers, databases, diagrams and programs.

    Only references to a key and one-to-one joins are written, which repeat no rows. A line says how
    many other joins were left out, and why.
    """
    export_format = ExportFormat(format_name)
    joins = _read(source, datasets)
    exported = export_joins(joins, export_format, declared=source.declared(joins))
    text = precede_with_checksum(exported, export_format)
    if out:
        write_export(out, text, export_format)
        click.echo(f"Wrote {number_of(exported.joins, 'join')} to {out}", err=True)
    else:
        print_result(text, nl=False)
    if exported.left_out:
        reasons = word_reasons(exported.left_out)
        left_out = number_of(exported.left_out.total(), "join")
        click.echo(f"Left out {left_out}: {reasons}", err=True)
    if exported.unheld:
        names = name_some(exported.unheld)
        click.echo(f"{format_name} cannot hold the names of {names}", err=True)


def _read(source: JoinSource, datasets: tuple[str, ...]) -> Sequence[Join]:
    """Read the joins of the named datasets; all joins if none is named.

    A join between two named datasets is returned once.
    """
    if not datasets:
        return source.joins()
    return [*{join.urn: join for name in datasets for join in source.joins_of(name)}.values()]
