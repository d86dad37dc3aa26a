"""Check that the packages of an extra are installed, before they are imported.

Most runs need none of these packages, which take gigabytes or a compiler to install.
"""

from importlib.util import find_spec

from datahub_hyperjoin.errors import MissingExtraError

_PACKAGES = {"hin": ("torch", "fasttext"), "llm": ("openai", "httpx2")}


def require_extra(extra: str, option: str) -> None:
    """Refuse an option whose packages are missing.

    Args:
        extra: The extra, such as `hin`.
        option: What needs it, as its user writes it.

    Raises:
        MissingExtraError: A package of the extra is not installed.
    """
    for package in _PACKAGES[extra]:
        if find_spec(package) is None:
            raise MissingExtraError.named(extra=extra, option=option, package=package)
