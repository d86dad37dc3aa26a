"""Print the results and warnings of commands, for people or for programs."""

import sys
from collections.abc import Callable, Sequence
from shutil import get_terminal_size
from typing import Any, TypeVar

import click

from datahub_hyperjoin.visible import visible, visible_lines
from datahub_hyperjoin.wording import count_others

_MOST_WARNINGS = 20
_Function = TypeVar("_Function", bound=Callable[..., Any])


def print_result(text: str, *, nl: bool = True) -> None:
    """Print a text that programs may read, whose names are exact unless a terminal shows it."""
    # Without the last argument, click would take escape sequences out of names.
    click.echo(visible_lines(text) if sys.stdout.isatty() else text, nl=nl, color=True)


def terminal_width() -> int | None:
    """Return the number of characters of a line on the terminal; None if nobody reads it there."""
    return get_terminal_size().columns if sys.stdout.isatty() else None


def print_warnings(warnings: Sequence[str]) -> None:
    """Print the first warnings to standard error, and the number of the others."""
    for line in warnings[:_MOST_WARNINGS]:
        click.echo(visible(line), err=True)
    for others in count_others(len(warnings), _MOST_WARNINGS):
        click.echo(f"... {others}.", err=True)


def with_format(readable: str, *others: str) -> Callable[[_Function], _Function]:
    """Add `--format` and `--json` to a command, as its argument `output_format`.

    By default it is `readable`. `others` are formats besides JSON.
    """

    def add(command: _Function) -> _Function:
        # The help lists the option first that is added last.
        command = click.option(
            "--json", "output_format", flag_value="json", help="Shorthand for --format json."
        )(command)
        return click.option(
            "--format",
            "output_format",
            type=click.Choice([readable, "json", *others]),
            default=readable,
            show_default=True,
            help="Format of the output.",
        )(command)

    return add
