"""Damage inputs at random.

Each must be read, or refused with an error of this package, within five seconds.
"""

from collections.abc import Mapping
from functools import partial

from faults import damaged_answers, damaged_recipes, damaged_results, damaged_tables, samples
from faults.outcome import Attack, Outcome
from faults.watched import Bench, attack

_LONG = 8
"""Number of tries in a long attack, as a multiple of the number in a short attack."""


def _family(name: str, bench: Bench, tries: int) -> Attack:
    contained = isinstance(bench, partial) and bench.func is damaged_tables.bench

    def carry_out(seed: int, long: bool) -> Outcome:  # noqa: FBT001 - as all attacks
        return attack(name, bench, tries * (_LONG if long else 1), seed, contained=contained)

    return carry_out


_FAMILIES: Mapping[str, tuple[Bench, int]] = {
    "damaged text": (partial(damaged_tables.bench, samples.text_files), 400),
    "damaged compression": (partial(damaged_tables.bench, samples.compressed_files), 300),
    "damaged Parquet": (partial(damaged_tables.bench, samples.parquet_files), 300),
    "damaged ORC": (partial(damaged_tables.bench, samples.orc_files), 300),
    "damaged Avro": (partial(damaged_tables.bench, samples.avro_files), 250),
    "damaged Delta": (partial(damaged_tables.bench, samples.delta_tables), 200),
    "damaged Iceberg": (partial(damaged_tables.bench, samples.iceberg_tables), 150),
    "damaged profile stores": (damaged_results.stores, 200),
    "damaged models": (damaged_results.models, 150),
    "damaged recipes": (damaged_recipes.recipes, 200),
    "damaged answers of DataHub": (damaged_answers.answers, 300),
}
"""For each kind of input, the function that prepares it, and the number of tries of a short attack.
"""

ATTACKS: Mapping[str, Attack] = {name: _family(name, *of) for name, of in _FAMILIES.items()}
