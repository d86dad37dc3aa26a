"""Compare the times of two runs over the same lake: `make bench-profile`.

Each run is `datahub ingest` in its own process and includes everything that a user waits for:
imports, the start of Spark, profiling, training, ranking, verification on the data, and writing.
The second run reuses the profile store and the model of the first.
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
_UNCHANGED = re.compile(r"'tables_from_profile_store': (\d+)")


def ingest(recipe: Path) -> tuple[float, dict[str, float], int]:
    """Run `datahub ingest` with a recipe, and measure its stages.

    Returns:
        The total seconds, the seconds of each stage, and the number of unchanged tables.
    """
    started = perf_counter()
    run = subprocess.run(
        [Path(sys.executable).with_name("datahub"), "ingest", "-c", recipe],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = perf_counter() - started
    output = run.stdout + run.stderr
    stages = {stage: float(took) for stage, took in _STAGE.findall(output)}
    return seconds, stages, int(_UNCHANGED.findall(output)[-1])


def main() -> None:
    """Print the seconds of each stage in both runs."""
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
    rows.append(("total, with imports", first, second))
    # On small lakes a stage may round to 0 seconds.
    table = [(*row, f"{row[2] / row[1]:.0%}" if row[1] else "-") for row in rows]
    print(tabulate(table, _HEADERS, floatfmt=".1f"))


_HEADERS = ("stage", "first run, s", "second, s", "share")


if __name__ == "__main__":
    main()
