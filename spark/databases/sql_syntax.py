"""Describe what databases write differently in the SQL that counts the values of columns."""

import re
from collections.abc import Callable
from dataclasses import dataclass

STANDARD_END = "trim(TRAILING {1} FROM {0})"
"""The text `{0}` without the character `{1}` at its end, in standard SQL."""


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

    has_silent_groups: bool = True
    """Whether regular expressions may have groups that are not numbered, as in `(?:a|b)`."""

    digits_of_bytes: str = ""
    """The hexadecimal digits of the bytes `{0}`, as `HEX_DIGITS` writes them; empty if there is no
    type of bytes."""

    hashed: str = "left(md5({0}), 16)"
    """The first 64 bits of the MD5 of the text `{0}`, as 16 hexadecimal digits of one case."""

    length: str = "char_length({0})"
    """Length of the text `{0}` in characters."""

    byte_length: str = "octet_length({0})"
    """Length of the text `{0}` in bytes of UTF-8."""

    start: str = "left({0}, {1})"
    """The first `{1}` characters of the text `{0}`."""

    rest: str = "substr({0}, {1})"
    """The text `{0}` from its character `{1}` on."""

    day: str = "{0}"
    """The day whose text is the literal `{0}`, as it is compared with a point in time."""

    without_end: str = STANDARD_END
    """The text `{0}` without the character `{1}` at its end, however often it is there."""

    digits: str = "concat({0})"
    """The whole number `{0}` as a text."""

    character: str = "chr({0})"
    """The character with the code `{0}`."""

    bits: str = "bit_or({0})"
    """Aggregate with the bits that any of the whole numbers `{0}` has."""

    joined: str = "string_agg({0}, {1} ORDER BY {2}) FILTER (WHERE {3})"
    """Aggregate that joins the texts `{0}` with the separator `{1}`, sorted by `{2}`, of the rows
    for which the condition `{3}` holds. Only these are sorted."""

    joined_bytes: str
    """Aggregate that joins the bytes with the hexadecimal digits `{0}`, sorted by `{1}`, of the
    rows for which the condition `{2}` holds. The result is of bytes or their base64."""

    has_one_order: bool = False
    """Whether all texts that one statement joins must be sorted alike."""

    most_joined: int = 0
    """Maximum size of a joined text in bytes, beyond which a statement fails; 0 if it is larger
    than any text that is asked for."""

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

    settings: str = ""
    """What precedes each statement that counts, and sets what holds for this statement only."""

    preparations: tuple[str, ...] = ()
    """Statements before the first that counts. Afterwards, all statements of the transaction see
    the same rows, if the database can do this."""

    def matching(self, text: str, pattern: str) -> str:
        """Write the condition that a part of a text matches a regular expression."""
        plain = pattern if self.has_silent_groups else _with_plain_groups(pattern, "")[0]
        return self.matches.format(text, self.quote_text(plain))

    def replacing(self, text: str, pattern: str, replacement: str) -> str:
        r"""Write the text in which a regular expression is replaced everywhere.

        Args:
            replacement: What replaces it; `\1` stands for the first group.
        """
        if not self.has_silent_groups:
            pattern, replacement = _with_plain_groups(pattern, replacement)
        marked = replacement.replace("\\", self.group_mark)
        return self.replaced.format(text, *map(self.quote_text, (pattern, marked)))


_GROUP = re.compile(r"\\.|\[[^]]*\]|\((?:\?:)?")
"""An escaped character, a set of characters, or the start of a group."""


def _with_plain_groups(pattern: str, replacement: str) -> tuple[str, str]:
    """Number all groups of a regular expression, and correct the numbers in its replacement."""
    starts = [found for found in _GROUP.findall(pattern) if found.startswith("(")]
    plain = [at for at, start in enumerate(starts, start=1) if start == "("]
    return (
        _GROUP.sub(lambda found: "(" if found[0] == "(?:" else found[0], pattern),
        re.sub(r"\\([1-9])", lambda found: f"\\{plain[int(found[1]) - 1]}", replacement),
    )


def quote_with_backslashes(text: str) -> str:
    r"""Write a text as a string literal in which backslashes escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_in_one_line(text: str) -> str:
    r"""Write a text as a string literal in which backslashes escape, without control characters."""
    written = quote_with_backslashes(text)
    return re.sub("[\x01-\x1f]", lambda found: f"\\x{ord(found[0]):02x}", written)
