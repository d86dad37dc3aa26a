"""The subcommands of `hyperjoin`."""

import ast
import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from datahub_hyperjoin import __version__
from datahub_hyperjoin.ending import on_interrupt, tidy_end
from datahub_hyperjoin.errors import HyperJoinError

_COMMANDS = {
    "accept": ("published", "accept_joins"),
    "check": ("checks", "check_recipe_file"),
    "evaluate": ("checks", "evaluate_rankings"),
    "explain": ("explain", "explain_columns"),
    "export": ("export", "write_joins"),
    "find": ("find", "find_in_sources"),
    "joins": ("published", "list_joins"),
    "mcp": ("serve", "serve_agents"),
    "page": ("serve", "open_page"),
    "path": ("published", "show_path"),
    "reject": ("published", "reject_joins"),
    "remove": ("checks", "remove_leftovers"),
    "serve": ("serve", "serve_people"),
    "undo": ("published", "undo_decisions"),
    "watch": ("watch", "watch_joins"),
}
"""The module and the function of each subcommand. Only the module of the current subcommand is
imported: DataHub's client alone takes more than half a second, and `find` does not need it."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors of an output that takes no more."""
_NO_THREAD = "can't start new thread"
"""A part of Python's message if the system lets no thread start."""


class _Commands(click.Group):
    """A group that imports a subcommand on its first use."""

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 (click's interface)
        """Run the subcommand that the arguments name."""
        with tidy_end(), _output_that_ends():
            return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's interface)
        """Run the subcommand; an error of this package, or too little memory, is one sentence."""
        try:
            with _ungrouped():
                return super().invoke(ctx)
        except HyperJoinError as error:
            raise click.ClickException(str(error)) from error
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and _NO_THREAD not in str(error):
                raise
            message = (
                "the system gives this program no more memory or threads. Raise its limits "
                "(`ulimit -v` and `ulimit -u`), or free memory"
            )
            raise click.ClickException(message) from error
        except BrokenPipeError:
            # Nobody reads the output any more, as after `| head`: the usual end of programs.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.raise_signal(signal.SIGPIPE)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands by the docstrings in their files, since imports take long."""
        listed = {it: click.Command(it, help=_read_help(*_COMMANDS[it])) for it in _COMMANDS}
        click.Group(commands=listed).format_commands(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all subcommands in alphabetical order."""
        return sorted(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,
        cmd_name: str,
    ) -> click.Command | None:
        """Import a subcommand; return None if no subcommand has this name."""
        if cmd_name not in _COMMANDS:
            return None
        module, function = _COMMANDS[cmd_name]
        with on_interrupt(signal.SIG_DFL):  # the imports of some take a second
            imported = import_module(f"datahub_hyperjoin.cli.{module}")
        command: click.Command = getattr(imported, function)
        return command


def _read_help(module: str, function: str) -> str | None:
    source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    defined = (each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef))
    return next(ast.get_docstring(each) for each in defined if each.name == function)


@contextmanager
def _ungrouped() -> Iterator[None]:
    """Raise an error of the output as it is, also if it comes in a group from a server's tasks."""
    try:
        yield
    except Exception as error:
        first = error
        while inner := getattr(first, "exceptions", ()):
            first = inner[0]
        if first is not error and isinstance(first, OSError):
            raise first from error
        raise


@contextmanager
def _output_that_ends() -> Iterator[None]:
    """Say in one sentence that the output, or a file, takes no more."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        # At its end, Python would write once more what it could not.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        message = (
            f"Error: {error.filename or 'the output'} cannot be written: {error.strerror}. Free "
            "space, or name another place"
        )
        with suppress(OSError):  # the output of errors may be the full one
            click.echo(message, err=True)
        sys.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hyperjoin")
def main() -> None:
    """Find joins between tables, and use, accept or reject them.

    `find`, `page` and `evaluate` need no server, nor do commands with `--in`, which names a file of
    joins, a folder or a database. The others use the server that a recipe names, or that `datahub
    init` or DATAHUB_GMS_URL and DATAHUB_GMS_TOKEN configure.
    """
