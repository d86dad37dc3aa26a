"""Vary column names by rule, and recognise names that have the same meaning.

The paper asks a language model for one plausible variant (section 4.1, step 3). These rules follow
the same guidance: separators, abbreviations, case conventions, synonyms.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Int

from datahub_hyperjoin.model.signals.names import tokens

_SYNONYMS = (
    ("id", "identifier", "key", "code", "no", "num", "number", "nbr"),
    ("name", "title", "label", "nm"),
    ("customer", "client", "cust"),
    ("employee", "staff", "emp"),
    ("country", "nation", "ctry"),
    ("state", "province", "region"),
    ("product", "item", "article", "prod"),
    ("company", "organization", "org", "firm"),
    ("department", "dept", "division"),
    ("location", "place", "loc", "site"),
    ("currency", "ccy", "curr"),
    ("language", "lang"),
    ("date", "day", "dt"),
    ("category", "class", "type", "kind"),
    ("city", "town", "municipality"),
    ("person", "people", "individual"),
    ("team", "club", "squad"),
    ("address", "addr"),
)
_GROUP = {word: group for group in _SYNONYMS for word in group}

_REWORDED, _ABBREVIATED = 0.4, 0.4
"""Share of variants with synonyms, and share of variants with shortened words."""
_SHORTEST = 3
"""Minimum number of letters of a shortened word; words of this length are not shortened."""
_TRUNCATED = 0.5
"""Share of abbreviations that keep only the start of a word. Other abbreviations drop vowels."""

Style = Callable[[list[str]], str]

_STYLES: tuple[Style, ...] = (
    "_".join,
    "-".join,
    ".".join,
    " ".join,
    "".join,
    lambda parts: "_".join(parts).upper(),
    lambda parts: "".join(part.capitalize() for part in parts),
    lambda parts: parts[0] + "".join(part.capitalize() for part in parts[1:]),
)


def _synonym(token: str, random: np.random.Generator) -> str:
    group = _GROUP.get(token)
    return str(random.choice(group)) if group else token


def _abbreviate(token: str, random: np.random.Generator) -> str:
    if len(token) <= _SHORTEST:
        return token
    if random.random() < _TRUNCATED:
        return token[: int(random.integers(_SHORTEST, len(token)))]
    return token[0] + "".join(letter for letter in token[1:] if letter not in "aeiou")


def vary_name(name: str, random: np.random.Generator) -> str:
    """Change a column's name at random, but keep its meaning.

    Returns:
        A name with the same meaning in another convention; the name itself if it has neither
        letters nor digits.
    """
    parts = list(tokens(name))
    if not parts:
        return name
    if random.random() < _REWORDED:
        parts = [_synonym(part, random) for part in parts]
    if random.random() < _ABBREVIATED:
        parts = [_abbreviate(part, random) for part in parts]
    return _STYLES[int(random.integers(len(_STYLES)))](parts)


def canonical(name: str) -> tuple[str, ...]:
    """Replace the words of a name with standard synonyms.

    Names with equal results are variants of each other.

    >>> canonical("custNo") == canonical("CUSTOMER_ID")
    True
    """
    return tuple(_GROUP.get(token, (token,))[0] for token in tokens(name))


def are_variants(
    names: Sequence[str],
    variants: Mapping[int, str],
    *,
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
) -> Bool[np.ndarray, " pair"]:
    """For each pair of columns, return whether both names have the same meaning.

    Returns:
        True where the name or the variant of the left column and the name or the variant of the
        right column have the same canonical tokens.

    >>> pair = {"left": np.array([0, 0]), "right": np.array([1, 2])}
    >>> are_variants(["customer", "client", "buyer"], {}, **pair).tolist()
    [True, False]
    >>> are_variants(["customer", "client", "buyer"], {2: "cust"}, **pair).tolist()
    [True, True]
    """
    # Compare numbers of meanings instead of token tuples: pairs can be many, names are few.
    spellings = [*names, *(variants.get(column, name) for column, name in enumerate(names))]
    meanings = ["\0".join(canonical(spelling)) for spelling in spellings]
    _, numbers = np.unique(meanings, return_inverse=True)
    name, variant = np.split(numbers, 2)
    return (
        (name[left] == name[right])
        | (name[left] == variant[right])
        | (variant[left] == name[right])
        | (variant[left] == variant[right])
    )
