"""Find joinable columns in a data lake and write them into DataHub."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datahub_hyperjoin.discovery import FoundJoins, find_joins

__all__ = ["FoundJoins", "__version__", "find_joins"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import `find_joins` and `FoundJoins` on first use.

    Their libraries take seconds to load.
    """
    if name in {"FoundJoins", "find_joins"}:
        return getattr(import_module("datahub_hyperjoin.discovery"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
