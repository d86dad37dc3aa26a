"""Recognise tables of the lakes that judge, whatever their source is called.

`python -m benchmarks.school.fingerprints LAKES` writes hashes of all tables below a folder to
`fingerprints.bin`: one of each header, and one of each row whose hash happens to end in five zero
bits. So a copy is found by its headers, and a renamed or shortened copy by its rows.
"""

import argparse
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.school.database import Database
from benchmarks.school.errors import ForbiddenSourceError

HASHES = Path(__file__).with_suffix(".bin")
"""The hashes, as unsigned integers of 8 bytes."""

_ONE_OF = 32
_LONGEST = 120
"""Longer cells are cut, as the lakes of the school cut them."""

_FEWEST_COLUMNS = 4
_FEWEST_CHARACTERS = 20
"""Headers of fewer columns and rows of fewer characters are the same by chance."""

_ROWS = 3
_SHARE = 0.2
"""A database is a copy if it has `_ROWS` known rows, or known headers in `_SHARE` of its tables."""


def check_unknown(database: Database) -> None:
    """Raise an error if a database holds tables of the lakes that judge.

    Args:
        database: A database that is read as a source.

    Raises:
        ForbiddenSourceError: It must not be trained on.
    """
    known = known_hashes()
    copied = sum(not known.isdisjoint(_headers(table, frame)) for table, frame in _tables(database))
    if copied > 1 and copied >= _SHARE * len(database.tables):
        raise ForbiddenSourceError.copied(database.name, f"{copied} headers")
    if database.invented:
        return
    rows = {one for _, frame in _tables(database) for one in _sampled(frame)} & known
    if len(rows) >= _ROWS:
        raise ForbiddenSourceError.copied(database.name, f"{len(rows)} rows")


def headers_of(database: Database) -> frozenset[int]:
    """Return a hash of each table's name and header, to find databases that are listed twice."""
    return frozenset(one for table, frame in _tables(database) for one in _headers(table, frame))


def _tables(database: Database) -> Iterable[tuple[str, pd.DataFrame]]:
    return database.tables.items()


def _headers(table: str, frame: pd.DataFrame) -> Iterator[int]:
    if frame.shape[1] >= _FEWEST_COLUMNS:
        yield _hash([table, *sorted(map(str, frame.columns))])


def _sampled(frame: pd.DataFrame) -> Iterator[int]:
    for row in frame.itertuples(index=False, name=None):
        cells = sorted(str(cell).strip()[:_LONGEST] for cell in row if cell)
        if sum(map(len, cells)) >= _FEWEST_CHARACTERS:
            number = _hash(cells)
            if number % _ONE_OF == 0:
                yield number


def _hash(texts: Iterable[str]) -> int:
    text = "\0".join(texts).casefold()
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=6).digest(), "big")


@cache
def known_hashes() -> frozenset[int]:
    """Return the hashes of the lakes that judge."""
    return frozenset(np.fromfile(HASHES, dtype="<u8").tolist())


def main(arguments: list[str] | None = None) -> None:
    """Hash the tables of lakes, and write the hashes next to this module."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.school.fingerprints")
    parser.add_argument("lakes", type=Path, help="folder with the lakes that judge")
    found: set[int] = set()
    for path in sorted(parser.parse_args(arguments).lakes.rglob("tables/**/*.csv")):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        found.update(_headers(path.stem, frame), _sampled(frame))
    np.array(sorted(found), dtype="<u8").tofile(HASHES)


if __name__ == "__main__":
    main()
