"""Errors in few words, and without what nobody may see."""

import re

_LONGEST = 300


def in_short(words: str, token: str | None = None) -> str:
    r"""An error's words on one line, without passwords and tokens.

    Args:
        words: What was said.
        token: What must not be shown.

    >>> in_short("no\nanswer from http://me:secret@gms:8080 with 'Bearer abc'")
    "no answer from http://***@gms:8080 with 'Bearer ***'"
    """
    if token:
        words = words.replace(token, "***")
    words = re.sub(r"//[^/@\s]+@", "//***@", words)
    words = re.sub(r"(Bearer|Basic) [^'\"]+", r"\1 ***", words)
    return " ".join(words.split())[:_LONGEST]
