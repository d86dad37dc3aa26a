"""Describe what databases write differently in the SQL that counts the values of columns."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSyntax:
    """The parts of the SQL that counts values in which database systems differ.

    `{0}`, `{1}` and so on stand for expressions.
    """

    quote_text: Callable[[str], str]
    """Function that writes a text as a string literal."""

    exact: str
    """Template that makes comparisons of a text `{0}` exact: by bytes, and with all spaces."""

    matches: str
    """Condition that a part of the text `{0}` matches the regular expression `{1}`."""

    replaced: str
    """The text `{0}`, in which the regular expression `{1}` is replaced with `{2}` everywhere."""

    group_mark: str = "\\"
    """What precedes the number of a group in a replacement of the pattern's matches."""

    hashed: str = "left(md5({0}), 16)"
    """The first 64 bits of the MD5 of the text `{0}`, as 16 hexadecimal digits of one case."""

    byte_length: str = "octet_length({0})"
    """Length of the text `{0}` in bytes of UTF-8."""

    character: str = "chr({0})"
    """The character with the code `{0}`."""

    joined: str = "string_agg({0}, {1} ORDER BY {2}) FILTER (WHERE {3})"
    """Aggregate that joins the texts `{0}` with the separator `{1}`, sorted by `{2}`, of the rows
    for which the condition `{3}` holds. Only these are sorted."""

    joined_bytes: str
    """Aggregate that joins the bytes with the hexadecimal digits `{0}`, sorted by `{1}`, of the
    rows for which the condition `{2}` holds. The result is of bytes or their base64."""

    materialized: str = "AS MATERIALIZED"
    """Keywords that define a common table expression, which is computed once if possible."""

    has_fields: bool = False
    """Whether a dot in the name of a column leads into a struct. Such columns are read."""

    scanned: str = "{0}"
    """The table `{0}`, of which the first rows do not depend on the columns that are asked for."""

    most_columns: int = 8
    """Maximum number of columns in one statement that counts values. The database keeps each
    column, in memory or on disk, until the statement ends."""

    fence: str = ""
    """Clause that keeps the planner from computing the expressions of a subquery as often as they
    are used, where it would."""

    preparations: tuple[str, ...] = ()
    """Statements before the first that counts. Afterwards, all statements of the transaction see
    the same rows, if the database can do this."""
