"""Count what the sources hold: `python -m benchmarks.school.survey [--mirror DIR]`."""

import argparse
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from benchmarks.school.database import Database
from benchmarks.school.fingerprints import headers_of
from benchmarks.school.read import CACHE, read_databases
from benchmarks.school.sources import Source, read_sources

_HOLDS = 0.95
"""A declared key holds if at least this share of the referring values occurs in the key."""

_COUNTS = ("databases", "authors", "tables", "columns", "rows", "declared keys", "keys that hold")


def main(arguments: list[str] | None = None) -> None:
    """Read all sources, and print what they hold by form and licence."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.school.survey", description=__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of cloned sources")
    parser.add_argument("--mirror", type=Path, help="folder that holds sources: owner+name")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    sources = {source.database: source for source in read_sources()}
    databases = read_databases(sources.values(), cache=chosen.cache, mirror=chosen.mirror)
    for line in (*table_of(databases, sources), *alike(databases)):
        print(line)


def table_of(databases: Sequence[Database], sources: dict[str, Source]) -> Iterator[str]:
    """Yield the lines of a Markdown table with the counts of each form, licence and split.

    Args:
        databases: The databases.
        sources: The source of each database by its name.
    """
    counts: dict[str, Counter[str]] = {}
    authors: dict[str, set[str]] = {}
    for database in databases:
        source = sources[database.name]
        facts = (source.kind.value, source.licence, source.split.value, "all")
        # Made-up rows say nothing about their source.
        for group in facts[:1] if database.invented else facts:
            counts.setdefault(group, Counter()).update(_counts(database))
            authors.setdefault(group, set()).add(source.name.partition("/")[0].lower())
    yield f"| | {' | '.join(_COUNTS)} |"
    yield f"|---{'|---' * len(_COUNTS)}|"
    for group, counted in sorted(counts.items()):
        counted["authors"] = len(authors[group])
        yield f"| {group} | {' | '.join(f'{counted[one]:,}' for one in _COUNTS)} |"


def _counts(database: Database) -> Counter[str]:
    keys = [one for one in database.references if database.has(one.target)]
    return Counter(
        {
            "databases": 1,
            "tables": len(database.tables),
            "columns": sum(frame.shape[1] for frame in database.tables.values()),
            "rows": 0 if database.invented else sum(map(len, database.tables.values())),
            "declared keys": len(keys),
            "keys that hold": sum(
                database.containment(one) >= _HOLDS for one in keys if not database.invented
            ),
        }
    )


def alike(databases: Sequence[Database]) -> Iterator[str]:
    """Yield a line for each two databases that share half of their headers.

    Args:
        databases: The databases.
    """
    headers = {database.name: headers_of(database) for database in databases}
    for (one, ours), (other, theirs) in combinations(headers.items(), 2):
        shared = len(ours & theirs)
        if shared > 1 and shared >= 0.5 * min(len(ours), len(theirs)):
            yield f"{one} and {other} share {shared} headers. Remove one of them from the list"


if __name__ == "__main__":
    main()
