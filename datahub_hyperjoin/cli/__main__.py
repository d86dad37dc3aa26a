"""`python -m datahub_hyperjoin.cli` is `hyperjoin`."""

from datahub_hyperjoin.cli.commands import main

main(prog_name="hyperjoin")
