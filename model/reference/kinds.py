"""A kind of thing with codes and names that everyone uses, and how else those are written."""

import re
import unicodedata
from typing import NamedTuple

_REMARK = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_MARKS = re.compile(r"[^\w\s]+")
_CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
_ARTICLE = re.compile(r"^the ", re.IGNORECASE)


class Called(NamedTuple):
    """What a thing is called in one form."""

    thing: int
    """The thing's number in its kind, from 0."""

    form: int
    """Which of the kind's codes it is, or a name: the form's number in the kind."""

    name: str
    """As written."""


class Kind(NamedTuple):
    """Things of one kind, such as countries, with what they are called."""

    name: str
    """What they are, in the plural."""

    called: tuple[Called, ...]
    """Codes, then names. What two things are called is the first one's."""

    things: int
    """How many there are."""

    forms: int
    """How many codes they have, and how many sorts of names."""


def writings(name: str) -> tuple[str, ...]:
    """How a name is written elsewhere: without accents, marks, remarks or an article, or turned.

    Args:
        name: A code or a name, as its source writes it.

    Returns:
        The name itself first, each writing once.

    >>> writings("Korea, Republic of")
    ('Korea, Republic of', 'Korea Republic of', 'Republic of Korea')
    >>> writings("Côte d'Ivoire")
    ("Côte d'Ivoire", "Cote d'Ivoire", 'Cote d Ivoire')
    """
    plain = _without_accents(name).replace(_CURLY, "'")
    head, comma, tail = plain.partition(", ")
    written = [
        name,
        plain,
        _REMARK.sub("", plain),
        " ".join(_MARKS.sub(" ", plain).split()),
        f"{tail} {head}" if comma else "",
        _ARTICLE.sub("", plain),
    ]
    return tuple(filter(None, dict.fromkeys(written)))


def _without_accents(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
