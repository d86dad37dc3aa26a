"""Find passwords and other secrets that a recipe contains as plain text.

DataHub replaces variables before a source receives its settings, and then a literal looks like a
variable's value. The recipe as it was written tells them apart.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from datahub.ingestion.api.common import PipelineContext

from datahub_hyperjoin.errors import LiteralSecretError

_SECRET_KEY = re.compile(r"password|secret|token|private.?key|api.?key|account\.key", re.IGNORECASE)
_HARMLESS_KEY = re.compile(
    r"provider|file|path|enabled|regex|class|interval|keyref|\.secrets\.", re.IGNORECASE
)
"""Words that show that a key holds no secret, such as `file` in `spark.ssl.trustStoreFile`."""
_SECRET_IN_URL = re.compile(
    r"://[^/@\s:]*:([^/@\s]+)@|[?&;](?:password|passwd|pwd|token|secret)=([^&;\s]+)", re.IGNORECASE
)
_VARIABLE = re.compile(r"\$\{|\$[A-Za-z_]")
_RUN_BY_DATAHUB = "urn:li:dataHub"
"""How the run's ID and the pipeline's name begin if DataHub runs a recipe from its own pages.
DataHub then also replaces the variables itself, so that this package never sees the recipe as it
was written."""


def find_literal_secrets(written: Mapping[str, Any]) -> list[str]:
    """Return the recipe keys whose values contain a password or another secret as plain text.

    Returns:
        Keys with dots between their levels. A key counts if its own name is that of a secret, or if
        its value is a URL with one in it; a variable in the right place is not plain text.

    Examples:
        >>> find_literal_secrets({"database": {"url": "postgresql://me:hush@host/shop"}})
        ['database.url']
        >>> find_literal_secrets({"database": {"url": "postgresql://me:${PASSWORD}@host/shop"}})
        []
    """
    return [key for key, name, value in _texts(written, "") if _is_literal(name, value)]


def refuse_literal_secrets(ctx: PipelineContext) -> None:
    """Refuse a run whose recipe file contains secrets as plain text.

    A recipe that a program passes as a dictionary, or that DataHub's pages run, is not refused,
    since nobody can tell how it was written.
    """
    pipeline = ctx.pipeline_config
    if pipeline is None or str(ctx.pipeline_name).startswith(_RUN_BY_DATAHUB):
        return
    written = pipeline.get_raw_dict()
    # Without a file, DataHub returns the settings after the replacement.
    if written == pipeline.model_dump() or ctx.run_id.startswith(_RUN_BY_DATAHUB):
        return
    if keys := find_literal_secrets(written["source"].get("config") or {}):
        raise LiteralSecretError.in_keys(keys)


def _texts(value: object, key: str, name: str = "") -> Iterator[tuple[str, str, str]]:
    """For each text in a recipe, yield its full key, the key's last part and the text."""
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _texts(inner, f"{key}.{part}".lstrip("."), str(part))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{key}[{index}]", name)
    elif isinstance(value, str):
        yield key, name, value


def _is_literal(name: str, value: str) -> bool:
    if _SECRET_KEY.search(name) and not _HARMLESS_KEY.search(name):
        return bool(value) and not _VARIABLE.search(value)
    parts = (found[1] or found[2] for found in _SECRET_IN_URL.finditer(value))
    return not all(_VARIABLE.search(part) for part in parts)
