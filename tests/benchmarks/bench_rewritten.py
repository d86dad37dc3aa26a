"""Measure how much of a catalog a run rewrites after a few tables have changed.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_rewritten FOLDER...`. Each
folder holds the CSV files of a lake, of which a copy is ingested into the double of DataHub's
server. Then a tenth of the rows of a few tables is removed, and the lake is ingested again. An
aspect counts as rewritten if the second run writes it, and as touched if an aspect of its entity
names a changed table, before or after.
"""

import argparse
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from datahub.ingestion.run.pipeline import Pipeline
from tabulate import tabulate

from gms import Gms, Write

_ENTITIES = ("erModelRelationship", "dataset", "schemaField")

Aspects = Mapping[tuple[str, str], str]
"""The last write of each aspect as text, by URN and name of the aspect."""


def ingest(gms: Gms, lake: Path, store: Path) -> Aspects:
    """Ingest a lake, and return what the run wrote."""
    before = len(gms.writes)
    pipeline = Pipeline.create(
        {
            "pipeline_name": "joins",
            "source": {
                "type": "hyperjoin",
                "config": {
                    "catalog": {"folder": str(lake), "known_only": False},
                    "profile": {"store": str(store)},
                    "stateful_ingestion": {"enabled": True, "fail_safe_threshold": 100},
                },
            },
            "datahub_api": {"server": gms.url},
            "sink": {"type": "datahub-rest", "config": {"server": gms.url}},
        },
        report_to=None,
        no_progress=True,
    )
    pipeline.run()
    pipeline.raise_from_status()
    return dict(map(_entry, gms.writes[before:]))


def _entry(write: Write) -> tuple[tuple[str, str], str]:
    return (write.urn, write.aspect), f"{write.urn} {write.body}"


def change(lake: Path, count: int) -> list[str]:
    """Remove the last tenth of the rows from `count` tables, and return the names of their files.

    The tables are as far apart as possible in the order of their names.
    """
    files = sorted(lake.rglob("*.csv"))
    changed = files[:: max(len(files) // count, 1)][:count]
    for file in changed:
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[: -max(len(lines) // 10, 1)]))
    return [file.name for file in changed]


def compare(folder: Path, count: int) -> Iterator[list[str]]:
    """Ingest a lake before and after `count` of its tables change.

    Yields:
        The lake, a type of entities, the number of their aspects, how many were rewritten, and how
        many of these are touched.
    """
    with TemporaryDirectory() as scratch, Gms() as gms:
        lake, store = Path(scratch, "lake"), Path(scratch, "store")
        shutil.copytree(folder, lake)
        first = ingest(gms, lake, store)
        names = change(lake, count)
        second = ingest(gms, lake, store)
    touched = {
        urn
        for aspects in (first, second)
        for (urn, _), text in aspects.items()
        if any(name in text for name in names)
    }
    for entity in _ENTITIES:
        written, again = (_of(entity, aspects) for aspects in (first, second))
        yield [
            folder.parent.name,
            entity,
            f"{len(written):,}",
            f"{len(again)} ({len(again) / len(written):.1%})",
            f"{sum(urn in touched for urn, _ in again)}",
        ]


def _of(entity: str, aspects: Aspects) -> Aspects:
    return {key: text for key, text in aspects.items() if key[0].startswith(f"urn:li:{entity}:")}


def main() -> None:
    """Run the benchmark, and print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_rewritten", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="CSV files")
    parser.add_argument("--changed", type=int, default=3, help="tables that change")
    options = parser.parse_args()
    rows = [row for folder in options.folders for row in compare(folder, options.changed)]
    headers = ["lake", "aspects of", "written first", "rewritten", "touched"]
    print(tabulate(rows, headers, disable_numparse=True))


if __name__ == "__main__":
    main()
