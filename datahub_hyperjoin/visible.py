r"""Make names harmless where people read them: in comments, on terminals, in logs and documents.

A name may hold anything that its system allows, such as line breaks that end a comment, escape
sequences that a terminal obeys, and characters that reverse or hide text. Here these characters are
written as the escapes of JSON, Python and YAML, such as `\n` and `\u202e`.
"""

import json
import logging
import re

_UNSEEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # line breaks, escape sequences and other control characters
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # line breaks and directions of Unicode
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb"  # nothing to see, as on the line before
    "\ud800-\udfff"  # halves of characters, as in names of files that are not UTF-8
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # nothing to see beyond 16 bits
    "]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_MOST_OF_FOUR_DIGITS = 0xFFFF


def visible(text: str) -> str:
    r"""Write control, direction and invisible characters as escapes.

    Other letters and signs stay as they are.

    >>> print(visible("id\n; DROP TABLE x"), visible("\x1b[2J"), visible("Größe"))
    id\n; DROP TABLE x \u001b[2J Größe
    """
    return _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    long = f"\\u{number:04x}" if number <= _MOST_OF_FOUR_DIGITS else f"\\U{number:08x}"
    return _SHORT.get(found[0], long)


def visible_lines(text: str) -> str:
    r"""Make each line of a text visible, and keep the lines.

    >>> print(visible_lines("SELECT 1;\n\x1b[2J"))
    SELECT 1;
    \u001b[2J
    """
    return "\n".join(map(visible, text.split("\n")))


def visible_json(value: object, *, indent: int | None = 2) -> str:
    r"""Write a value as JSON in which such characters are escapes, so that it reads back equal.

    >>> print(visible_json(["Größe\u202e"], indent=None))
    ["Größe\u202e"]
    """
    separators = None if indent else (",", ":")
    text = json.dumps(value, indent=indent, ensure_ascii=False, separators=separators)
    # The line breaks between values are the only such characters outside of texts.
    lines = (
        _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], line) for line in text.split("\n")
    )
    return "\n".join(lines)


def markdown(text: str) -> str:
    r"""Make a name visible in Markdown, so that it becomes no link, code or HTML.

    >>> print(markdown("fare[usd]_*"), markdown("<b>\n# Title"))
    fare\[usd\]_\* \<b\>\\n# Title
    """
    return re.sub(r"([\\`*<>\[\]])", r"\\\1", visible(text))


def code_span(text: str) -> str:
    """Write a name as code in Markdown, between more backticks than it has.

    >>> print(code_span("id"), code_span("`id`"))
    `id` `` `id` ``
    """
    shown = visible(text)
    ticks = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    space = " " if shown[:1] in {"`", " "} or shown[-1:] in {"`", " "} else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def unseen_in_javascript() -> str:
    """Return the regular expression, in JavaScript, of the characters that `visible` escapes."""
    signs = {ord(sign): sign for sign in "[-]"}
    return "".join(signs.get(ord(each), f"\\u{{{ord(each):x}}}") for each in _UNSEEN.pattern)


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


def logger_of(module: str) -> logging.Logger:
    """Return the logger of a module, whose records show names as `visible` does."""
    logger = logging.getLogger(module)
    logger.addFilter(_show)  # which adds it once
    return logger


def _show(record: logging.LogRecord) -> bool:
    record.msg, record.args = visible(record.getMessage()), None
    return True
