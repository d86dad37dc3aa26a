"""Where an installed package keeps its data, found without running the package."""

from importlib.util import find_spec
from pathlib import Path

from datahub_hyperjoin.errors import MissingExtraError


def data_folder(package: str, *parts: str) -> Path:
    """A folder inside an installed package.

    Importing some of these packages prints, unpacks archives or takes seconds, so they are not
    imported.

    Args:
        package: The package's import name.
        *parts: The way down from the package's own folder.

    Returns:
        The folder.

    Raises:
        MissingExtraError: The package is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError.named(extra="demo", option="catalog.demo", package=package)
    return Path(spec.submodule_search_locations[0], *parts)
