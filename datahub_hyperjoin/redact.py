"""Shorten errors to one line, and mask the passwords and tokens in them."""

import re

_MAX_LENGTH = 300


def in_short(text: str, token: str | None = None) -> str:
    r"""Return an error's text on one line, without passwords and tokens.

    Args:
        text: The text.
        token: A token to mask.

    >>> in_short("no\nanswer from http://me:secret@gms:8080 with 'Bearer abc'")
    "no answer from http://***@gms:8080 with 'Bearer ***'"
    """
    if token:
        text = text.replace(token, "***")
    text = re.sub(r"//[^/@\s]+@", "//***@", text)
    text = re.sub(r"(Bearer|Basic) [^'\"]+", r"\1 ***", text)
    return " ".join(text.split())[:_MAX_LENGTH]
