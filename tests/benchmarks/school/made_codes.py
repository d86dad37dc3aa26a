"""Invent codes for things, either from their names or at random."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from benchmarks.school.database import Random

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def make_codes(names: Sequence[str], random: Random) -> tuple[str, list[str]]:
    """Give each thing a unique code.

    Args:
        names: The names of the things.
        random: Source of the draw of a scheme.

    Returns:
        A name for the column, and the codes.
    """
    name, scheme = _SCHEMES[int(random.integers(len(_SCHEMES)))]
    taken: set[str] = set()
    codes = []
    for drawn in scheme(names, random):
        code = next(one for one in _numbered(drawn) if one not in taken)
        taken.add(code)
        codes.append(code)
    return name, codes


def _numbered(code: str) -> Iterator[str]:
    yield code
    yield from (f"{code[:-1]}{number}" for number in count(2))


def _letters(names: Sequence[str], random: Random) -> Iterator[str]:
    """Yield the first letters of each name, as in country codes."""
    length = int(random.integers(2, 5))
    for name in names:
        letters = [letter for letter in name.upper() if letter in _LETTERS]
        yield "".join(letters[:length]).ljust(length, "X")


def _skeletons(names: Sequence[str], random: Random) -> Iterator[str]:
    """Yield the first letter of each name and the consonants after it, as in airport codes."""
    length = int(random.integers(3, 6))
    for name in names:
        letters = [letter for letter in name.upper() if letter in _LETTERS]
        rest = [letter for letter in letters[1:] if letter not in "AEIOU"]
        yield "".join([*letters[:1], *rest])[:length].ljust(length, "X")


def _numbers(names: Sequence[str], random: Random) -> Iterator[str]:
    """Draw random numbers of equal length."""
    digits = int(random.integers(4, 8))
    for number in random.choice(9 * 10 ** (digits - 1), len(names), replace=False):
        yield str(int(number) + 10 ** (digits - 1))


def _classes(names: Sequence[str], random: Random) -> Iterator[str]:
    """Yield codes that start with a random class letter, such as `A01.3`."""
    classes = random.integers(0, len(_LETTERS), len(names))
    for at, letter in enumerate(classes):
        yield f"{_LETTERS[letter]}{at // 10:02}.{at % 10}"


def _mixed(names: Sequence[str], random: Random) -> Iterator[str]:
    """Draw random letters and digits."""
    length = int(random.integers(4, 8))
    for _ in names:
        yield "".join(random.choice([*_LETTERS, *"0123456789"], length))


_Scheme = Callable[[Sequence[str], Random], Iterator[str]]

_SCHEMES: tuple[tuple[str, _Scheme], ...] = (
    ("code", _letters),
    ("abbr", _skeletons),
    ("number", _numbers),
    ("class_code", _classes),
    ("key", _mixed),
)
