"""Decide whether columns of public tables hold codes, names or other values."""

import re
from enum import Enum

import pandas as pd

_FILLED = 0.7
_TEXTS = 20
_CODES = 30
_LONGEST_TEXT = 45
_LONGEST_CODE = 14
_WORDS = 6
_LETTERS = re.compile(r"[^\W\d_]")
_NO_TEXT = re.compile(r"^\s*(https?:|www\.|\d{4}-\d\d-\d\d|[-+]?\d[\d.,:/ ]*$)")
_GLOTTOCODE = re.compile(r"^[a-z]{4}\d{4}$")
_MOST = 0.5


class Content(Enum):
    """The kind of values in a column."""

    TEXT = "text"
    CODE = "code"
    OTHER = "other"


def content(cells: "pd.Series[str]") -> Content:
    """Decide whether a column holds names, codes or something else.

    Numbers, dates, addresses of pages, sentences and Glottolog's codes are anything else.

    >>> content(pd.Series([f"Name of {chr(97 + n)}" for n in range(26)]))
    <Content.TEXT: 'text'>
    >>> content(pd.Series([f"K-{n}" for n in range(40)]))
    <Content.CODE: 'code'>
    >>> content(pd.Series([str(n) for n in range(40)]))
    <Content.OTHER: 'other'>
    """
    filled = cells[cells != ""]
    values = filled.drop_duplicates()
    if len(values) < _TEXTS or len(filled) < _FILLED * len(cells):
        return Content.OTHER
    if values.map(_has_no_text).mean() > 1 - _MOST or values.str.match(_GLOTTOCODE).mean() > _MOST:
        return Content.OTHER
    digits = values.str.contains(r"\d").mean()
    lengths = values.str.len().mean()
    if digits > _MOST:
        short = len(values) >= _CODES and lengths <= _LONGEST_CODE
        return Content.CODE if short else Content.OTHER
    words = values.str.split().map(len).mean()
    return Content.TEXT if lengths <= _LONGEST_TEXT and words <= _WORDS else Content.OTHER


def _has_no_text(value: str) -> bool:
    return bool(_NO_TEXT.match(value)) or not _LETTERS.search(value)
