"""Run the command `hyperjoin` as `python -m datahub_hyperjoin.cli`."""

from datahub_hyperjoin.cli.commands import main

main(prog_name="hyperjoin")
