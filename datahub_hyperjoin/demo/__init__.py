"""Write the quick start's lake: real tables from packages of the extra `demo`."""

from datahub_hyperjoin.demo.write import write_lake

__all__ = ["write_lake"]
