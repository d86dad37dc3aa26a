"""The quick start's lake: real tables that packages of the extra `demo` carry."""

from datahub_hyperjoin.demo.write import write_lake

__all__ = ["write_lake"]
