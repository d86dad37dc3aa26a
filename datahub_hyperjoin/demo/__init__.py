"""Write a demonstration lake of real tables from installed Python packages."""

from datahub_hyperjoin.demo.write import write_lake

__all__ = ["write_lake"]
