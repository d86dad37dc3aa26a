"""Rewrite the values of a column, as different publishers would write them."""

from collections.abc import Callable, Sequence

from benchmarks.school.database import Random

Writing = Callable[[str], str]
"""Writes one value in another way."""

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_AFFIXES = ("The ", "* ", "#", " (1)", " Inc.", " *", " - n/a", " [old]")
_VOWELS = str.maketrans("", "", "aeiou")


def draw_writing(random: Random) -> Writing:
    """Draw one or two ways to rewrite text."""
    first = _TEXT[int(random.integers(len(_TEXT)))](random)
    if random.random() < 0.65:
        return first
    second = _TEXT[int(random.integers(len(_TEXT)))](random)
    return lambda value: second(first(value))


def draw_code_writing(random: Random) -> Writing:
    """Draw a way to rewrite codes, such as adding a prefix or leading zeros."""
    prefix = "".join(random.choice([*_ALPHABET.upper()], 2))
    ways: tuple[Writing, ...] = (
        lambda value: f"{prefix}-{value}",
        lambda value: value.zfill(8),
        lambda value: f"{value}.0" if value.isdecimal() else value,
        lambda value: value.lstrip("0"),
        str.upper,
        str.lower,
    )
    return ways[int(random.integers(len(ways)))]


def rewrite(values: Sequence[str], random: Random, *, codes: bool = False) -> dict[str, str]:
    """Rewrite values, all in the same randomly drawn way.

    Args:
        values: The values.
        random: Source of the draw.
        codes: Whether they are codes, and no text.

    Returns:
        The new form of each; an empty value stays empty.
    """
    write = draw_code_writing(random) if codes else draw_writing(random)
    return {value: (write(value).strip() or value) if value else "" for value in values}


def _typos(random: Random) -> Writing:
    share = random.uniform(0.4, 0.8)

    def write(value: str) -> str:
        if len(value) < 4 or random.random() >= share:
            return value
        at = int(random.integers(1, len(value) - 1))
        letter = _ALPHABET[int(random.integers(len(_ALPHABET)))]
        return (
            value[:at] + value[at + 1 :],
            value[:at] + letter + value[at:],
            value[:at] + letter + value[at + 1 :],
            value[:at] + value[at + 1] + value[at] + value[at + 2 :],
        )[int(random.integers(4))]

    return write


def _case(random: Random) -> Writing:
    ways: tuple[Writing, ...] = (str.upper, str.lower, str.title, str.swapcase)
    return ways[int(random.integers(len(ways)))]


def _punctuation(random: Random) -> Writing:
    mark = str(random.choice(["-", "_", ".", "/", "", "  "]))
    return lambda value: value.replace(",", "").replace(".", "").replace(" ", mark)


def _order(random: Random) -> Writing:
    comma = ", " if random.random() < 0.7 else " "

    def write(value: str) -> str:
        *first, last = value.split() or [""]
        return f"{last}{comma}{' '.join(first)}" if first else value

    return write


def _initials(random: Random) -> Writing:
    dot = str(random.choice([".", ""]))

    def write(value: str) -> str:
        first, *rest = value.split() or [""]
        return " ".join([f"{first[:1]}{dot}", *rest]) if rest else value

    return write


def _affix(random: Random) -> Writing:
    affix = str(random.choice(_AFFIXES))
    share = random.uniform(0.4, 1.0)

    def write(value: str) -> str:
        if random.random() >= share:
            return value
        return f"{affix}{value}" if affix[-1] in " #" else f"{value}{affix}"

    return write


def _short_words(random: Random) -> Writing:
    length = int(random.integers(3, 6))

    def shorten(word: str) -> str:
        return word if len(word) <= length else word[0] + word[1:].translate(_VOWELS)[:length]

    return lambda value: " ".join(map(shorten, value.split()))


def _clip(random: Random) -> Writing:
    length = int(random.integers(8, 20))
    return lambda value: value[:length]


_TEXT: tuple[Callable[[Random], Writing], ...] = (
    _typos,
    _case,
    _case,
    _punctuation,
    _order,
    _initials,
    _affix,
    _short_words,
    _clip,
)
