"""Entry point of `python -m datahub_hyperjoin.cli`, which runs the command `hyperjoin`."""

from datahub_hyperjoin.cli.commands import main

main(prog_name="hyperjoin")
