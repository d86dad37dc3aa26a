"""Locate the data of an installed package without importing the package."""

from importlib.util import find_spec
from pathlib import Path

from datahub_hyperjoin.demo.errors import MissingExtraError


def data_folder(package: str, *parts: str) -> Path:
    """Locate a folder inside an installed package.

    The package is not imported: some of these packages print, unpack archives or take seconds.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError.named(extra="demo", option="catalog.demo", package=package)
    return Path(spec.submodule_search_locations[0], *parts)
