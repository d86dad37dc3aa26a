"""Damage files of tables."""

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_each, profile_table
from datahub_hyperjoin.spark.profiles.rows import from_rows, to_rows
from datahub_hyperjoin.tables import Table
from faults.damage import damage_text
from faults.samples import Sample, csv_text, table_of
from faults.watched import Try

_CONFIG = ProfileConfig(sketch_size=64, sample_size=8)
_LONGEST_FAULT = 5_000
"""Maximum number of characters of the message about an unreadable table; people read no more."""


@contextmanager
def bench(make: Callable[[Path], Sequence[Sample]]) -> Iterator[Try]:
    """Yield a function that reads a damaged sample table."""
    with tempfile.TemporaryDirectory() as folder:
        readable = Path(folder, "readable.csv")
        readable.write_bytes(csv_text())
        beside = table_of(readable, File(uri=str(readable), format="csv"))
        expected = profile_table(beside, _CONFIG, Databases())
        made = make(Path(folder))
        for sample in made:
            fault = profile_table(sample.table, _CONFIG, Databases()).fault
            assert not fault, fault
        contents = {file: file.read_bytes() for sample in made for file in sample.files}

        def attempt(draw: random.Random) -> str:
            sample = draw.choice(made)
            file = draw.choice(sample.files)
            other = contents[draw.choice([*contents])]
            file.write_bytes(damage_text(contents[file], draw, other))
            try:
                return _problem(sample.table, beside, expected)
            finally:
                file.write_bytes(contents[file])

        yield attempt


def _problem(damaged: Table, beside: Table, expected: object) -> str:
    """Profile a damaged table between two readable ones, and describe what goes wrong."""
    last = replace(beside, title="last")
    tables = (beside, damaged, last)
    with Databases() as databases:
        batches = [*profile_each(tables, _CONFIG, databases)]
    first, profile, _ = profiles = [profile for batch in batches for profile in batch]
    if first != expected:
        return f"changes the profile of another table: {first.fault}"
    if profiles[-1].fault:
        return f"spoils the table after it: {profiles[-1].fault}"
    if len(profile.fault) > _LONGEST_FAULT:
        return f"has a fault of {len(profile.fault)} characters"
    if from_rows(tables, to_rows(profiles)) != profiles:
        return "has a profile that cannot be returned"
    return ""
