"""Damage files of decisions at random, and decide about joins in several programs at once."""

import random
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from datahub_hyperjoin.decision_file import (
    WrittenDecision,
    editing_decision_file,
    read_decision_file,
)
from datahub_hyperjoin.errors import FaultyDecisionsError
from datahub_hyperjoin.joins import Verdict
from faults.damage import damage
from faults.outcome import Attack, Outcome
from faults.watched import Try
from faults.watched import attack as watch
from lakes.written_decisions import write_decision_file

_LINES = 12
_PIECES = ["id", " ", "\r", "\n", '"', ",", ";", '["', "\u2028", "é", "\0", "org, year", "\ufeff"]


def _decision(draw: random.Random, number: int) -> WrittenDecision:
    left, right = (
        "".join(draw.choices(_PIECES, k=draw.randint(1, 4))) + str(number) for _ in range(2)
    )
    return WrittenDecision(
        left_table=left,
        left_columns=(left,),
        right_table=right,
        right_columns=(f"of {right}",),
        verdict=draw.choice([*Verdict]),
        by=draw.choice(_PIECES),
        reason=draw.choice(_PIECES),
    )


def _read(file: Path) -> list[WrittenDecision]:
    return [replace(each, place="") for each in read_decision_file(file)]


@contextmanager
def _files() -> Iterator[Try]:
    """Yield a function that damages one line of a file, and decides about one more join."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "decisions.csv")

        def attempt(draw: random.Random) -> str:
            file.unlink(missing_ok=True)
            decided = [_decision(draw, number) for number in range(_LINES)]
            write_decision_file(file, decided)
            if _read(file) != decided:
                return "what is written is not what is read"
            header, *lines = file.read_bytes().splitlines(keepends=True)
            at = draw.randrange(_LINES)
            line = damage(lines[at].rstrip(b"\n"), draw, lines[0])
            file.write_bytes(b"".join([header, *lines[:at], line, b"\n", *lines[at + 1 :]]))
            others = [*decided[:at], *decided[at + 1 :]]
            kept = _read(file)
            if any(each not in kept for each in others):
                return f"{line!r} costs another line"
            with editing_decision_file(file) as written:
                written.append(replace(decided[at], reason="again"))
            again = _read(file)
            return "" if all(each in again for each in others) else f"{line!r} loses a line"

        yield attempt


@contextmanager
def _headers() -> Iterator[Try]:
    """Yield a function that damages a whole file, which is refused or keeps what it can."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"decisions.{kind}") for kind in ("csv", "json")]

        def attempt(draw: random.Random) -> str:
            file = draw.choice(files)
            file.unlink(missing_ok=True)
            write_decision_file(file, [_decision(draw, number) for number in range(_LINES)])
            content = damage(file.read_bytes(), draw, b"")
            file.write_bytes(content)
            try:
                _read(file)
            except FaultyDecisionsError:
                return "" if file.read_bytes() == content else "the file was changed"
            return ""

        yield attempt


def _add(file: Path, numbers: range) -> None:
    for number in numbers:
        with editing_decision_file(file) as written:
            written.append(_decision(random.Random(number), number))  # noqa: S311 - it must repeat


def _decide_at_once(seed: int, long: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    del seed
    each = 400 if long else 50
    people = [range(start, start + each) for start in range(0, 4 * each, each)]
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(len(people)) as pool:
        file = Path(folder, "decisions.csv")
        list(pool.map(_add, [file] * len(people), people))
        lost = 4 * each - len(_read(file))
    return Outcome(4 * each, (f"{lost} decisions are lost",) * bool(lost))


def _damage_lines(seed: int, long: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    return watch("damaged lines of decisions", _files, 2000 if long else 250, seed)


def _damage_files(seed: int, long: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    return watch("damaged files of decisions", _headers, 2000 if long else 250, seed)


ATTACKS: Mapping[str, Attack] = {
    "damaged lines of decisions": _damage_lines,
    "damaged files of decisions": _damage_files,
    "decisions made at once": _decide_at_once,
}
