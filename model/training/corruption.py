"""Change values at random, for example their case or spelling.

The changed values are those of the positive in a training pair. The network learns to match the
differences that it sees here.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

_Values = list[str]
Corruption = Callable[[_Values, np.random.Generator], _Values]

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_CASES = (str.upper, str.lower, str.title)


def _change_case(values: _Values, random: np.random.Generator) -> _Values:
    case = _CASES[int(random.integers(len(_CASES)))]
    return [case(value) for value in values]


def _change_separator(values: _Values, random: np.random.Generator) -> _Values:
    separator = str(random.choice(["", " ", "-", "_", "/"]))
    return [re.sub(r"[\s\-_/.,]+", separator, value) for value in values]


def _pad(values: _Values, random: np.random.Generator) -> _Values:
    width = int(random.integers(4, 9))
    return [value.zfill(width) if value.isdigit() else value for value in values]


def _prefix(values: _Values, random: np.random.Generator) -> _Values:
    letters = "".join(random.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), size=2))
    return [f"{letters}-{value}" for value in values]


def _clip(values: _Values, random: np.random.Generator) -> _Values:
    length = int(random.integers(3, 7))
    return [" ".join(word[:length] for word in value.split(" ")) for value in values]


def _misspell(values: _Values, random: np.random.Generator) -> _Values:
    misspelt = []
    for value in values:
        letter = int(random.integers(max(len(value), 1)))
        before, after = value[:letter], value[letter + 2 :]
        swapped = before + value[letter + 1 : letter + 2] + value[letter : letter + 1] + after
        misspelt.append(str(random.choice([value, swapped, before + value[letter + 1 :]])))
    return misspelt


def _reformat(values: _Values, random: np.random.Generator) -> _Values:
    date = str(random.choice([r"\3/\2/\1", r"\2/\3/\1", r"\1\2\3"]))
    return [
        # Programs such as pandas write integers like this in columns with nulls.
        f"{value}.0" if value.isdecimal() else _DATE.sub(date, value, count=1)
        for value in values
    ]


_CORRUPTIONS: tuple[Corruption, ...] = (
    _change_case,
    _change_separator,
    _pad,
    _prefix,
    _clip,
    _misspell,
    _reformat,
)


def corrupt(values: Sequence[str], random: np.random.Generator) -> _Values:
    """Change all values of a column in one or two random ways."""
    changed = list(values)
    for choice in random.choice(len(_CORRUPTIONS), size=int(random.integers(1, 3)), replace=False):
        changed = _CORRUPTIONS[int(choice)](changed, random)
    return changed
