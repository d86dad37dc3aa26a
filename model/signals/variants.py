"""Other names that people give a column: the rules.

The paper asks a language model for one plausible variant (section 4.1, step 3); these rules
follow the same guidance: separators, abbreviations, case conventions, synonyms.
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
    if len(token) <= 3:  # noqa: PLR2004 - shorter words are abbreviations already
        return token
    if random.random() < 0.5:  # noqa: PLR2004 - as often cut as squeezed
        return token[: int(random.integers(3, len(token)))]
    return token[0] + "".join(letter for letter in token[1:] if letter not in "aeiou")


def rename(name: str, random: np.random.Generator) -> str:
    """A plausible other name of the same column.

    Args:
        name: The column's name.
        random: Where choices come from.

    Returns:
        A name with the same meaning in another convention; the name itself when it has no
        letters to work on.
    """
    parts = list(tokens(name))
    if not parts:
        return name
    if random.random() < 0.4:  # noqa: PLR2004 - share of names that change a word
        parts = [_synonym(part, random) for part in parts]
    if random.random() < 0.4:  # noqa: PLR2004 - share of names that are shortened
        parts = [_abbreviate(part, random) for part in parts]
    return _STYLES[int(random.integers(len(_STYLES)))](parts)


def canonical(name: str) -> tuple[str, ...]:
    """The tokens of a name with every synonym written the same way.

    Two columns whose names agree here are variants of one another.

    >>> canonical("custNo") == canonical("CUSTOMER_ID")
    True
    """
    return tuple(_GROUP.get(token, (token,))[0] for token in tokens(name))


def are_variants(
    names: Sequence[str],
    others: Mapping[int, str],
    *,
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
) -> Bool[np.ndarray, " pair"]:
    """Whether the columns of given pairs have names for the same thing.

    Args:
        names: One name a column.
        others: Another name of some columns, by place.
        left: Columns.
        right: Columns, as many.

    Returns:
        True where a name of the one, its own or its other, agrees with one of the other's when
        synonyms are written the same way.

    >>> pair = {"left": np.array([0, 0]), "right": np.array([1, 2])}
    >>> are_variants(["customer", "client", "buyer"], {}, **pair).tolist()
    [True, False]
    >>> are_variants(["customer", "client", "buyer"], {2: "cust"}, **pair).tolist()
    [True, True]
    """
    spelt = [*names, *(others.get(place, name) for place, name in enumerate(names))]
    _, meaning = np.unique(["\0".join(canonical(name)) for name in spelt], return_inverse=True)
    own, other = np.split(meaning, 2)
    return (
        (own[left] == own[right])
        | (own[left] == other[right])
        | (other[left] == own[right])
        | (other[left] == other[right])
    )
