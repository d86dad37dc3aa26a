"""Find the delimiter and the quote of delimited text, and mend text that no CSV parser reads.

Runs of spaces or several characters may separate fields, spaces may surround quoted fields, and
quotes whole lines. Such text is rewritten on its way to the parser, so that a single character
separates its fields.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from datahub_hyperjoin.locations import DEFAULT_DIALECT, Dialect
from datahub_hyperjoin.spark.files.header import (
    ROWS_EXAMINED,
    are_numbers,
    csv_options,
    is_number,
    parse_first_rows,
    read_header,
    split_titles,
    without_cut,
)

Rewrite = Callable[[str], str]
"""A function that rewrites whole lines of a text."""

CONTROLS = "\x01\x1f\x14"
"""Control characters that separate fields: in files of Hive, by the standard of ASCII, and in
exports of documents."""
USUAL_DELIMITERS = ",;\t|"
_RARE = f"^~:{CONTROLS}"
SIGNS_OF_PROSE = "#@!$%&*"
"""Delimiters that stand in prose, values and programs, too: they count if nothing else separates
the names."""
_REGULAR = 0.9
"""Least share of rows with as many fields as the header. Below it, a rarer reading is tried."""
_FEWEST_FIELDS, _FEWEST_WORDS = 2, 3
"""Least number of columns, and of columns between single spaces: two words may be a name."""
_SINGLE_QUOTE = "'"


def find_dialect(
    head: str, dialect: Dialect = DEFAULT_DIALECT, hint: str | None = None
) -> tuple[Dialect, Rewrite | None]:
    """Find what a dialect leaves open, and how to rewrite the text if no dialect describes it.

    The delimiter `hint` is what the name of the file promises.
    """
    if unwrap := _without_outer_quotes(head, dialect):
        dialect, rewrite = find_dialect(unwrap(head), dialect, hint)
        return dialect, both(unwrap, rewrite) if rewrite else unwrap
    rewrite = None
    if not dialect.delimiter:
        dialect = replace(dialect, delimiter=find_delimiter(head, dialect, hint))
        if rewritten := _between_signs(head, dialect) or _between_spaces(head, dialect):
            dialect, rewrite = rewritten
            head = rewrite(head)
    if dialect.quote == DEFAULT_DIALECT.quote and _has_single_quotes(head, dialect):
        dialect = replace(dialect, quote=_SINGLE_QUOTE)
    if _has_escapes(head, dialect):
        dialect = replace(dialect, escape=_ESCAPE)
    return dialect, rewrite or _without_space_around_quotes(head, dialect)


def both(first: Rewrite, then: Rewrite) -> Rewrite:
    """Return a function that rewrites lines twice."""
    return lambda text: then(first(text))


_STEP = ROWS_EXAMINED // 2
_MOST_LINES = 20 * ROWS_EXAMINED


def long_preamble(head: str, dialect: Dialect, hint: str | None) -> str:
    """Return the first lines of a text whose table begins below the lines that are examined."""
    first = head.partition("\n")[0]
    if any(char in first for char in USUAL_DELIMITERS):
        return ""
    lines = [f"{line}\n" for line in head.split("\n", _MOST_LINES)[:-1]]
    for start in range(0, max(0, len(lines) - ROWS_EXAMINED), _STEP):
        window = "".join(lines[start : start + ROWS_EXAMINED + 1])
        found = replace(dialect, delimiter=find_delimiter(window, dialect, hint))
        is_usual = str(found.delimiter) in USUAL_DELIMITERS or found == dialect
        if is_usual and _share(split_titles(window, found)[1]) >= _REGULAR:
            return "".join(lines[:start])
    return ""


def find_delimiter(head: str, dialect: Dialect = DEFAULT_DIALECT, hint: str | None = None) -> str:
    r"""Find the character that separates fields, such as a comma or a tab.

    The delimiter is the candidate with the highest score: the number of fields in the header, times
    the share of rows that have the same number.

    >>> find_delimiter("name;price\napple;1,20\npear;0,80\n")
    ';'
    >>> find_delimiter("name\napple, red\n"), find_delimiter("a^b\n1^2\n")
    (',', '^')
    """
    usual = _candidates(USUAL_DELIMITERS, head, dialect)
    # A character that leaves the header in one piece separates nothing.
    splitting = [char for char, tried in usual.items() if len(read_header(head, tried)) > 1]
    if hint in splitting or (hint in usual and split_titles(head, usual[hint])[0]):
        return str(hint)
    best = max(splitting, key=lambda char: _score(head, usual[char])) if len(splitting) > 1 else ""
    found = [*([best] if best else splitting)]
    first = head.lstrip("\r\n").partition("\n")[0]
    rare = _candidates(_RARE if splitting else _RARE + SIGNS_OF_PROSE, first, dialect)
    if rare or hint:
        found = [char for char in found if _is_regular(head, usual[char])] or found * (not hint)
        is_sure = any(_is_regular(head, usual[char]) for char in found)
        fitting = [char for char, tried in rare.items() if _is_regular(head, tried)]
        if fitting and not is_sure:
            return max(fitting, key=lambda char: _score(head, rare[char]))
    below = [char for char, tried in usual.items() if not found and split_titles(head, tried)[0]]
    others = [char for char in USUAL_DELIMITERS if char not in (dialect.quote, dialect.escape)]
    return [*found, *below, *([hint] if hint else []), *others][0]


def _candidates(characters: str, text: str, dialect: Dialect) -> dict[str, Dialect]:
    """Return the dialect with each of the characters that occur in a text."""
    taken = (dialect.quote, dialect.escape)
    return {c: replace(dialect, delimiter=c) for c in characters if c in text and c not in taken}


def _score(head: str, dialect: Dialect) -> float:
    header, *others = _first_rows(head, dialect)
    matching = sum(len(row) == len(header) for row in others)
    return len(header) * (matching + 1) / (len(others) + 1)


def _is_regular(head: str, dialect: Dialect) -> bool:
    return _share(_first_rows(head, dialect)) >= _REGULAR


def _first_rows(head: str, dialect: Dialect) -> list[list[str]]:
    return without_cut(parse_first_rows(head, dialect)[0])


def _share(rows: Sequence[Sequence[str]]) -> float:
    """Return the share of rows with as many fields as the header; 0 if that has a single one."""
    if len(rows) < 2 or len(rows[0]) < _FEWEST_FIELDS:  # noqa: PLR2004 (header and one row)
        return 0.0
    return sum(len(row) == len(rows[0]) for row in rows[1:]) / (len(rows) - 1)


_QUOTED = r'"(?:[^"]|"")*"'
_WORD = re.compile(rf"{_QUOTED}|[^ ]+")
_WIDE_GAP = re.compile(r" {2,}")
_ALL_GAPS = re.compile(rf"({_QUOTED})| +")
_EDGES = re.compile(r"^ +| +(?=\r?$)", re.MULTILINE)


def _between_spaces(head: str, dialect: Dialect) -> tuple[Dialect, Rewrite] | None:
    """Return how to read fields between runs of spaces, if nothing else separates any."""
    first = head.lstrip("\r\n").partition("\n")[0]
    if " " not in first.strip() or str(dialect.delimiter) in first or "\t" in head:
        return None
    if len(read_header(head, dialect)) >= _FEWEST_FIELDS:
        return None
    lines = [line.strip() for line in _lines(head)]
    tabs = replace(dialect, delimiter="\t")
    if _is_even([_WIDE_GAP.split(line) for line in lines]):
        return tabs, partial(_with_tabs, _WIDE_GAP)
    rows = [_WORD.findall(line) for line in lines]
    if not _is_even(rows):
        return None
    names, *body = rows
    below = zip(names, *(row for row in body if len(row) == len(names)), strict=True)
    has_numbers = any(not is_number(name) and are_numbers(cells) for name, *cells in below)
    if len(body[0]) < _FEWEST_WORDS and not has_numbers:
        return None
    return tabs, partial(_with_tabs, _ALL_GAPS)


def _with_tabs(gaps: re.Pattern[str], text: str) -> str:
    return gaps.sub(lambda gap: (gap.re.groups and gap[1]) or "\t", _EDGES.sub("", text))


_SIGNS = re.compile(r"""[^\w\s"'`=.,;/\\()\[\]{}<>-]{2,4}|[^\0-\x7f\w\s]|\xfe""")
"""What separates fields if it is no single character of ASCII, as in `1::1193::5`."""


def _between_signs(head: str, dialect: Dialect) -> tuple[Dialect, Rewrite] | None:
    """Return how to read fields between several characters, or one beyond ASCII."""
    first = head.lstrip("\r\n").partition("\n")[0]
    pair = str(dialect.delimiter) * 2
    # Two commas are an empty field.
    signs = {*_SIGNS.findall(first), *([pair] if pair in first and pair != ",," else [])}
    if signs and _is_regular(head, dialect):
        # Else a sign of a currency in each row would separate fields.
        signs = {each for each in signs if str(dialect.delimiter) in each}
    for sign in sorted(signs, key=lambda each: (-len(each), each)):
        rows = [line.split(sign) for line in _lines(head)]
        if all(rows[0]) and _is_even(rows):
            return replace(dialect, delimiter="\x1f"), Separator(sign)
    return None


@dataclass(frozen=True, slots=True)
class Separator:
    """A function that writes one character in place of what separates fields."""

    sign: str

    def __call__(self, text: str) -> str:
        """Rewrite a text."""
        return text.replace(self.sign, "\x1f")


def _lines(head: str) -> list[str]:
    """Return the first lines that are not blank, without one that the end of the block may cut."""
    lines = head.split("\n", ROWS_EXAMINED)[:-1]
    return [line.removesuffix("\r") for line in lines if line.strip()]


def _is_even(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether nearly all rows have as many fields, and the header has them or one less."""
    if len(rows) < 2:  # noqa: PLR2004 (header and one row)
        return False
    usual, times = Counter(map(len, rows[1:])).most_common(1)[0]
    is_header = len(rows[0]) == usual or len(rows[0]) == usual - 1 >= _FEWEST_FIELDS
    return usual >= _FEWEST_FIELDS and is_header and times >= _REGULAR * (len(rows) - 1)


def _has_single_quotes(head: str, dialect: Dialect) -> bool:
    """Return whether nearly all rows have fields in single quotes."""
    between = re.escape(str(dialect.delimiter))
    if _SINGLE_QUOTE not in head or _SINGLE_QUOTE in (dialect.delimiter, dialect.escape):
        return False
    quoted = re.compile(rf"(?:^|{between})'(?:[^']|'')*'(?={between}|$)")
    lines = _lines(head)[1:]
    if not lines or sum(map(bool, map(quoted.search, lines))) < _REGULAR * len(lines):
        return False
    tried = replace(dialect, quote=_SINGLE_QUOTE)
    as_is, single = (_first_rows(head, each) for each in (dialect, tried))
    return _share(single) >= _share(as_is)


_ESCAPE = "\\"


def _has_escapes(head: str, dialect: Dialect) -> bool:
    """Return whether more rows are like the header if backslashes stand before delimiters."""
    before = f"{re.escape(str(dialect.delimiter))}{dialect.quote}"
    if dialect.escape or not re.search(rf"\\[{before}]", head):
        return False
    tried = replace(dialect, escape=_ESCAPE)
    return _share(_first_rows(head, tried)) > _share(_first_rows(head, dialect))


def _without_outer_quotes(head: str, dialect: Dialect) -> Rewrite | None:
    """Return how to remove the quotes around lines, each of which they make a single field."""
    quote = dialect.quote
    if not quote or not re.match(rf"\s*[^\n]+\n\s*{re.escape(quote)}", head):
        return None
    names, *lines = [*_lines(head), ""]
    if len(lines) <= _FEWEST_FIELDS or not lines[0].endswith(quote):
        return None
    whole = re.compile(rf"^{quote}((?:[^{quote}\n]|{quote}{quote})*){quote}(?=\r?$)", re.MULTILINE)
    unwrap: Rewrite = partial(whole.sub, lambda found: found[1].replace(quote * 2, quote))
    header = unwrap(names)
    usual = [char for char in USUAL_DELIMITERS if char in header and f"{char} " not in header]
    wrapped = sum(map(bool, map(whole.fullmatch, lines[:-1])))
    has_fields = any(char in line for char in usual for line in lines[:1])
    return unwrap if has_fields and wrapped >= _REGULAR * (len(lines) - 1) else None


def with_lone_quotes(head: str, dialect: Dialect) -> Rewrite | None:
    """Return how to read lines with a quote that is never closed, if this saves rows after them."""
    quote, delimiter = dialect.quote, str(dialect.delimiter)
    if not quote or dialect.escape or quote not in head:
        return None
    # Two such quotes take the lines between them.
    between = head.split(quote)
    within = "".join(between[1::2])
    if len(between) % 2 and "\n" not in within and "\r" not in within:
        return None
    lines = [line for line in head.splitlines() if line.strip()]
    width = len(read_header(head, dialect))
    with suppress(csv.Error):
        # A quote that ends where a field does is meant to, whatever the lines in it look like.
        for _ in csv.reader(io.StringIO(head, newline=""), strict=True, **csv_options(dialect)):
            pass
        return None

    def mended_line(found: re.Match[str]) -> str:
        line = found[0]
        fields = line.split(delimiter)
        if line.count(quote) % 2 == 0 or len(fields) != width:
            return line
        doubled = (each.replace(quote, quote * 2) for each in fields)
        return delimiter.join(
            f"{quote}{each}{quote}" if quote in each else each for each in doubled
        )

    def rewrite(text: str) -> str:
        return re.sub(r"[^\r\n]+", mended_line, text)

    as_is, mended = (_all_rows(text, dialect) for text in (head, rewrite(head)))
    regular = [row for row in mended if len(row) == width]
    gained = len(regular) - sum(len(row) == width for row in as_is)
    if gained <= 0 or len(regular) < _REGULAR * len(lines):
        return None
    from datahub_hyperjoin.spark.files.ragged import written_shape  # noqa: PLC0415 (few need it)

    # Other lines of a text in quotes do not begin as rows do.
    known = {written_shape(row[0]) for row in as_is}
    return rewrite if {written_shape(row[0].strip(quote)) for row in regular} <= known else None


def _all_rows(text: str, dialect: Dialect) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(filter(None, csv.reader(io.StringIO(text, newline=""), **csv_options(dialect))))
    return rows


def _without_space_around_quotes(head: str, dialect: Dialect) -> Rewrite | None:
    """Return how to remove the spaces around quotes, if more rows then are like the header."""
    between, quote = re.escape(str(dialect.delimiter)), dialect.quote
    if not quote or dialect.escape or dialect.delimiter == " ":
        return None
    text = np.frombuffer(head.encode(), np.uint8)
    is_space, is_quote = text == ord(" "), text == ord(quote)
    if not ((is_space[1:] & is_quote[:-1]) | (is_space[:-1] & is_quote[1:])).any():
        return None
    if not re.search(rf"{between} +{quote}|{quote} +{between}", head):
        return None
    inside = rf"{quote}(?:[^{quote}]|{quote}{quote})*{quote}"
    spaces = re.compile(rf"(?:(?<={between}) +)?({inside})(?: +(?={between}|\r?$))?", re.MULTILINE)
    rewrite: Rewrite = partial(spaces.sub, r"\1")
    as_is, mended = (
        without_cut(parse_first_rows(text, dialect)[0]) for text in (head, rewrite(head))
    )
    return rewrite if _share(mended) >= _share(as_is) else None
