"""Split SQL dumps of any engine into statements of tokens.

A parser of one dialect refuses a dump at its first unknown option. Keys and rows are written
alike in all dialects, so that tokens are enough to find them.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|\#[^\n]*|/\*(?!!).*?\*/|/\*!\d*|\*/)
    |[NEneBbXx]?'(?P<string>(?:[^'\\]|''|\\.)*)'
    |"(?P<quoted>(?:[^"\\]|""|\\.)*)"
    |`(?P<ticked>(?:[^`]|``)*)`
    |\[(?P<bracketed>[^\[\]\n]*)\]
    |(?P<number>[-+]?(?:\d[\w.]*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<word>[\w$@:\#]+)
    |(?P<sign>.)
    """,
    re.DOTALL | re.VERBOSE,
)

_ESCAPED = re.compile(r"''|\"\"|\\(.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "0": ""}

_STARTS = {"CREATE", "INSERT", "ALTER", "GO"}
"""Words that begin a statement, where a dump leaves out the semicolon before them."""


class Token(NamedTuple):
    """A word, text, name, number or sign."""

    kind: str
    text: str

    @property
    def word(self) -> str:
        """The keyword in upper case, or a sign; the empty text for anything that is quoted."""
        return self.text.upper() if self.kind in {"word", "sign"} else ""

    @property
    def is_name(self) -> bool:
        """Whether the token can name a table or a column."""
        return self.kind in {"word", "quoted", "ticked", "bracketed", "string"}


def statements(text: str) -> Iterator[list[Token]]:
    """Yield the statements of a script, without comments.

    Args:
        text: A script of any engine.
    """
    statement: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        if kind == "space":
            continue
        token = Token(kind, _plain(kind, match[kind]))
        begins = depth <= 0 and statement and token.word in _STARTS
        if begins or (token.word == ";" and depth <= 0):
            yield statement
            statement, depth = [], 0
        if token.word != ";":
            statement.append(token)
            depth += {"(": 1, ")": -1}.get(token.word, 0)
    yield statement


def _plain(kind: str, text: str) -> str:
    if kind in {"string", "quoted"} and ("\\" in text or "''" in text or '""' in text):
        return _ESCAPED.sub(_unescaped, text)
    return text


def _unescaped(match: re.Match[str]) -> str:
    character = match[1]
    return match[0][0] if character is None else _CONTROL.get(character, character)
