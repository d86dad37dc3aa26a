"""Entity kinds, with the codes and names of their entities."""

import re
import unicodedata
from typing import NamedTuple

_REMARK = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_MARKS = re.compile(r"[^\w\s]+")
_CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
_ARTICLE = re.compile(r"^the ", re.IGNORECASE)


class EntityName(NamedTuple):
    """A code or a name of an entity."""

    entity: int
    """The entity's number within its kind, from 0."""

    form: int
    """The number of the form in which the text is written: a kind of code, or a source of names."""

    name: str
    """The code or name as written."""


class EntityKind(NamedTuple):
    """An entity kind, such as countries, with all its codes and names."""

    name: str
    """The kind's name, in the plural."""

    names: tuple[EntityName, ...]
    """First the codes of all entities, then their names. A name that two entities share belongs to
    the first of these entities."""

    entities: int
    """Number of entities."""

    forms: int
    """Number of ways to write an entity: one for each kind of code, and one per source of names."""


def spellings(name: str) -> tuple[str, ...]:
    """Return the usual spellings of a name.

    They leave out accents, punctuation, remarks in brackets or the article, or swap the parts
    around a comma.

    Returns:
        The name itself first, each spelling once.

    >>> spellings("Korea, Republic of")
    ('Korea, Republic of', 'Korea Republic of', 'Republic of Korea')
    >>> spellings("Côte d'Ivoire")
    ("Côte d'Ivoire", "Cote d'Ivoire", 'Cote d Ivoire')
    """
    plain = _without_accents(name).replace(_CURLY, "'")
    head, comma, tail = plain.partition(", ")
    candidates = [
        name,
        plain,
        _REMARK.sub("", plain),
        " ".join(_MARKS.sub(" ", plain).split()),
        f"{tail} {head}" if comma else "",
        _ARTICLE.sub("", plain),
    ]
    return tuple(filter(None, dict.fromkeys(candidates)))


def _without_accents(name: str) -> str:
    if name.isascii():  # most of 200,000 names, which every run converts
        return name
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
