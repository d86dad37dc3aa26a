"""Print the warnings of a command."""

from collections.abc import Sequence

import click

from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import count_others

_MOST = 20


def print_warnings(warnings: Sequence[str]) -> None:
    """Print the first warnings to standard error, and the number of the others.

    Args:
        warnings: One line for each warning.
    """
    for line in warnings[:_MOST]:
        click.echo(visible(line), err=True)
    for others in count_others(len(warnings), _MOST):
        click.echo(f"... {others}.", err=True)
