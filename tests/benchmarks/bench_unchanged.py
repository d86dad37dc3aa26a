"""What a second run over an unchanged lake takes of the first: `make bench-profile`.

Each run is `datahub ingest` in a process of its own, with everything a user waits for: imports,
Spark's start, profiles, training, ranking, the check on the data, and writing. The second has the
first one's store and model.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tabulate import tabulate

from benchmarks.bench_profile import write_lake

RECIPE = """
source:
  type: hyperjoin
  config:
    catalog: {{folder: {folder}/lake}}
    profile: {{store: {folder}/store}}
    model: {{path: {folder}/model}}
sink:
  type: file
  config: {{filename: {folder}/joins.json}}
"""
_STAGE = re.compile(r"Time spent in stage <(.+?) at .+?>: ([0-9.]+) seconds")
_UNCHANGED = re.compile(r"'tables_unchanged': (\d+)")


def ingest(recipe: Path) -> tuple[float, dict[str, float], int]:
    """Runs a recipe: seconds of all and of each stage, and how many tables were not read."""
    started = perf_counter()
    run = subprocess.run(
        [Path(sys.executable).with_name("datahub"), "ingest", "-c", recipe],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = perf_counter() - started
    said = run.stdout + run.stderr
    stages = {stage: float(took) for stage, took in _STAGE.findall(said)}
    return seconds, stages, int(_UNCHANGED.findall(said)[-1])


def main() -> None:
    """Prints the seconds of both runs, stage by stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=250, help="size of the lake")
    tables = parser.parse_args().tables
    with tempfile.TemporaryDirectory() as folder:
        write_lake(Path(folder, "lake"), tables)
        recipe = Path(folder, "recipe.yml")
        recipe.write_text(RECIPE.format(folder=folder), "utf-8")
        first, before, read = ingest(recipe)
        second, after, unchanged = ingest(recipe)
    assert (read, unchanged) == (0, tables), (read, unchanged)
    rows = [(stage, before[stage], after[stage]) for stage in before]
    rows.append(("all, imports included", first, second))
    print(tabulate([(*row, f"{row[2] / row[1]:.0%}") for row in rows], _HEADERS, floatfmt=".1f"))


_HEADERS = ("stage", "first run, s", "second, s", "share")


if __name__ == "__main__":
    main()
