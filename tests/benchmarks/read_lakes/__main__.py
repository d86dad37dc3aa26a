"""Measure how the output reads on public lakes: `python -m benchmarks.read_lakes FOLDER`."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.read_lakes.lists import ExpectedJoin, Verdict
from benchmarks.read_lakes.make import make_lake, read_public_lakes
from benchmarks.read_lakes.measure import Reading, read_lake
from benchmarks.school.read import CACHE
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.joins import Role

_FIGURES = ("lake", "tables", "joins", "recall", "first 5", "traps", "top 40", "40 at random")
_KINDS = (*(role.value for role in Role), "sisters")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, make lakes that are missing, and print the figures of each."""
    chosen = _parse(arguments)
    print(*_FIGURES, *_KINDS, sep=" | ")
    try:
        for lake in read_public_lakes():
            if chosen.only and lake.lake not in chosen.only:
                continue
            if not (chosen.folder / lake.lake).is_dir():
                make_lake(lake, chosen.folder, cache=chosen.cache, mirror=chosen.mirror)
            reading = read_lake(chosen.folder / lake.lake)
            print(*_row(reading), sep=" | ", flush=True)
            if chosen.list:
                _list(reading)
    except HyperJoinError as error:
        sys.exit(str(error))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.read_lakes", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the lakes; missing ones are made")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of cloned repositories")
    parser.add_argument("--mirror", type=Path, help="folder that holds repositories: owner+name")
    parser.add_argument("--only", metavar="LAKE", nargs="+", help="measure only these")
    parser.add_argument("--list", action="store_true", help="also list misses and bad joins")
    return parser.parse_args(arguments)


def _row(reading: Reading) -> list[object]:
    kinds = reading.kinds
    return [
        reading.lake,
        reading.tables,
        len(reading.joins),
        f"{reading.recall:.0%}",
        f"{reading.first:.0%}",
        f"{reading.traps:g}",
        _verdicts(reading.top),
        _verdicts(reading.drawn),
        *(kinds[kind] for kind in _KINDS),
    ]


def _verdicts(counts: Counter[Verdict]) -> str:
    words = (Verdict.USEFUL, Verdict.WRONG, Verdict.UNLABELLED)
    return ", ".join(f"{counts[one]} {one.value}" for one in words if one in counts) or "none"


def _list(reading: Reading) -> None:
    for expected in reading.missing:
        print(f"  missing: {_text(expected)}")
    for place, join in enumerate(reading.joins, 1):
        verdict = reading.verdict(join)
        if verdict in {Verdict.WRONG, Verdict.UNLABELLED}:
            print(f"  {verdict.value}: {place}. {join}, {join.role.value}")


def _text(expected: ExpectedJoin) -> str:
    pairs = sorted(sorted(pair) for pair in expected.alternatives[0])
    return " and ".join(" = ".join(map(".".join, pair)) for pair in pairs)


if __name__ == "__main__":
    main()
