"""Print the results of commands for people or for programs."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from datahub_hyperjoin.visible import visible_lines

_Function = TypeVar("_Function", bound=Callable[..., Any])


def print_result(text: str, *, nl: bool = True) -> None:
    """Print a text that programs may read, whose names are exact unless a terminal shows it.

    Args:
        text: The text.
        nl: Whether to end it with a line break.
    """
    # Without the last argument, click would take escape sequences out of names.
    click.echo(visible_lines(text) if sys.stdout.isatty() else text, nl=nl, color=True)


def with_format(readable: str) -> Callable[[_Function], _Function]:
    """Add the options `--format` and `--json` to a command, as its argument `output_format`.

    Args:
        readable: The name of the default format, which people read.
    """

    def add(command: _Function) -> _Function:
        # The help lists the option first that is added last.
        command = click.option(
            "--json", "output_format", flag_value="json", help="Shorthand for --format json."
        )(command)
        return click.option(
            "--format",
            "output_format",
            type=click.Choice([readable, "json"]),
            default=readable,
            show_default=True,
            help="Format of the output.",
        )(command)

    return add
