"""Shorten error messages to one line, and mask passwords and tokens."""

import re

_MAX_LENGTH = 300
_PARAMETER = re.compile(r"([?&;](?:password|passwd|pwd|token|secret)=)[^&;\s'\"]+", re.IGNORECASE)
"""A secret among the parameters of a URL, in the syntax of JDBC and Spark Connect."""


def redact(text: str, token: str | None = None) -> str:
    r"""Shorten an error's text to one line, and mask passwords and tokens.

    >>> redact("no driver for jdbc:postgresql://shop/?password=hush&user=me")
    'no driver for jdbc:postgresql://shop/?password=***&user=me'
    >>> redact("no\nanswer from http://me:secret@gms:8080 with 'Bearer abc'")
    "no answer from http://***@gms:8080 with 'Bearer ***'"
    """
    if token:
        text = text.replace(token, "***")
    text = re.sub(r"//[^/@\s]+@", "//***@", text)
    text = _PARAMETER.sub(r"\1***", text)
    text = re.sub(r"(Bearer|Basic) [^'\"]+", r"\1 ***", text)
    return " ".join(text.split())[:_MAX_LENGTH]
