"""The subcommands of `hyperjoin`."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click

from datahub_hyperjoin import __version__
from datahub_hyperjoin.cli.interrupt import interrupt_ends_program

_COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "accept": ("published", "accept_joins"),
        "check": ("check", "check_recipe_file"),
        "evaluate": ("measure", "evaluate_rankings"),
        "explain": ("explain", "explain_columns"),
        "export": ("export", "write_joins"),
        "find": ("find", "find_in_sources"),
        "joins": ("published", "list_joins"),
        "mcp": ("serve_agents", "serve_agents"),
        "page": ("page", "open_page"),
        "path": ("published", "show_path"),
        "reject": ("published", "reject_joins"),
        "serve": ("serve_people", "serve_people"),
        "undo": ("published", "undo_decisions"),
    }
)
"""The module and the function of each subcommand. Only the module of the current subcommand is
imported: DataHub's client alone takes more than half a second, and `find` does not need it."""


class _Commands(click.Group):
    """A group that imports a subcommand on its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's interface)
        """Return the names of all subcommands in alphabetical order."""
        return sorted(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 (click's interface)
        cmd_name: str,
    ) -> click.Command | None:
        """Import a subcommand; return None if no subcommand has this name."""
        if cmd_name not in _COMMANDS:
            return None
        module, function = _COMMANDS[cmd_name]
        with interrupt_ends_program():  # the imports of some take a second
            imported = import_module(f"datahub_hyperjoin.cli.{module}")
        command: click.Command = getattr(imported, function)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hyperjoin")
def main() -> None:
    """Find joins between tables, and use, accept or reject the joins in DataHub.

    `find`, `page` and `evaluate` need no server. The other commands use the one that a recipe
    names, or that `datahub init` or DATAHUB_GMS_URL and DATAHUB_GMS_TOKEN configure.
    """
