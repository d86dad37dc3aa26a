"""Names between quotes in systems that read a backslash there as the start of an escape.

Libraries that quote names double the quotes in them, and leave backslashes as they are. A name that
ends in a backslash would then run on to the next quote.
"""

from collections.abc import Mapping

_CONTROLS = {chr(number): f"\\x{number:02x}" for number in (*range(1, 32), 127)}
_ESCAPES: Mapping[str, dict[int, str]] = {
    "clickhouse": str.maketrans({"\\": "\\\\"}),
    # It reads no doubled quotes, and a quoted name has one line.
    "bigquery": str.maketrans({"\\": "\\\\", "`": "\\x60", **_CONTROLS}),
}


def escape_for_quotes(name: str, system: str) -> str:
    r"""Escape a name that a library will put between quotes.

    Args:
        system: The database system, as sqlglot and SQLAlchemy call it.

    >>> print(escape_for_quotes("share\\", "clickhouse"), escape_for_quotes("share\\", "mysql"))
    share\\ share\
    """
    return name.translate(_ESCAPES[system]) if system in _ESCAPES else name
