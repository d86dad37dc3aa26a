"""Draw the cells of columns that are common in applications."""

import numpy as np
import pandas as pd

from benchmarks.school.database import Random

_FIRST = [
    "Ada",
    "Ben",
    "Carla",
    "Dev",
    "Ewa",
    "Finn",
    "Gita",
    "Hugo",
    "Ines",
    "Jan",
    "Kofi",
    "Lena",
    "Mira",
    "Noor",
    "Otto",
    "Pia",
]
_LAST = [
    "Abel",
    "Brandt",
    "Costa",
    "Diaz",
    "Eriksen",
    "Faure",
    "Gomez",
    "Hansen",
    "Ito",
    "Jansen",
    "Khan",
    "Lopez",
]
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def flag(rows: int, random: Random) -> list[str]:
    """Draw yes or no, in one of three spellings."""
    words = (("0", "1"), ("Y", "N"), ("true", "false"))[int(random.integers(3))]
    return random.choice(words, rows, p=(0.8, 0.2)).tolist()


def date(rows: int, random: Random) -> list[str]:
    """Draw days of some years."""
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(random.integers(0, 3_000, rows), "D")
    return [str(day.date()) for day in days]


def small(rows: int, random: Random) -> list[str]:
    """Draw small whole numbers."""
    return random.integers(0, int(random.choice([3, 6, 12, 30, 100])), rows).astype(str).tolist()


def position(rows: int, random: Random) -> list[str]:
    """Number the rows, or those of each parent, in random order."""
    # In half of the real tables they count within a parent, in the others all rows.
    if random.random() < 0.5:
        return line(rows, random)
    return (int(random.integers(2)) + random.permutation(rows)).astype(str).tolist()


def line(rows: int, random: Random) -> list[str]:
    """Count from 1 again for each parent of a few rows."""
    parents = np.sort(random.integers(0, 1 + rows // 4, rows))
    return [str(at + 1 - np.searchsorted(parents, parent)) for at, parent in enumerate(parents)]


def amount(rows: int, random: Random) -> list[str]:
    """Draw amounts of money."""
    return [f"{amount:.2f}" for amount in random.gamma(2, 40, rows)]


def status(rows: int, random: Random) -> list[str]:
    """Draw a few words, of which each is in many rows."""
    words = ["new", "open", "draft", "done", "closed", "pending"]
    return random.choice(words[: int(random.integers(3, 7))], rows).tolist()


def document(rows: int, random: Random) -> list[str]:
    """Draw distinct codes of documents, in ascending order."""
    letter = "ABDIPRSW"[int(random.integers(8))]
    return [f"{letter}-{number:06}" for number in np.sort(random.permutation(9 * rows)[:rows])]


def person(rows: int, random: Random) -> list[str]:
    """Draw names of people."""
    return [f"{random.choice(_FIRST)} {random.choice(_LAST)}" for _ in range(rows)]


def letters(rows: int, random: Random) -> list[str]:
    """Draw short words that mean nothing."""
    lengths = random.integers(1, 4, rows)
    return ["".join(random.choice(_SYLLABLES, length)) for length in lengths]
