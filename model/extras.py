"""Check that the packages which a configuration needs are installed, before they are imported.

Most runs need none of these packages, which take gigabytes or a compiler to install.
"""

from collections.abc import Iterator
from importlib.util import find_spec

from datahub_hyperjoin.errors import MissingExtraError
from datahub_hyperjoin.model.config import ModelConfig, Scoring

_PACKAGES = {"hin": ("torch", "fasttext"), "llm": ("openai", "httpx2")}


def require_extras(config: ModelConfig) -> None:
    """Refuse a configuration whose packages are missing.

    Raises:
        MissingExtraError: A package of an extra is not installed.
    """
    for extra, option in _needed(config):
        for package in _PACKAGES[extra]:
            if find_spec(package) is None:
                raise MissingExtraError.named(extra=extra, option=option, package=package)


def _needed(config: ModelConfig) -> Iterator[tuple[str, str]]:
    scoring = config.ranking.scoring
    if scoring is not Scoring.SIGNALS:
        yield "hin", f"model.ranking.scoring: {scoring.value}"
    if config.variants.llm:
        yield "llm", "model.variants.llm"
