"""Damaged inputs: each is read, or refused with an error of this package, within five seconds."""

from collections.abc import Callable, Sequence
from functools import partial

from faults import damaged_answers, damaged_recipes, damaged_results, damaged_tables, samples
from faults.outcome import Outcome
from faults.watched import Bench, attack

_LONG = 5
"""How many times more tries a long attack has."""


def _family(name: str, bench: Bench, tries: int) -> Callable[[int, bool], Outcome]:
    def carry_out(seed: int, long: bool) -> Outcome:  # noqa: FBT001 - the form of all attacks
        return attack(name, bench, tries * (_LONG if long else 1), seed)

    return carry_out


ATTACKS: Sequence[Callable[[int, bool], Outcome]] = (
    _family("damaged text", partial(damaged_tables.bench, samples.text_files), 700),
    _family("damaged compression", partial(damaged_tables.bench, samples.compressed_files), 500),
    _family("damaged Parquet", partial(damaged_tables.bench, samples.parquet_files), 500),
    _family("damaged ORC", partial(damaged_tables.bench, samples.orc_files), 500),
    _family("damaged Avro", partial(damaged_tables.bench, samples.avro_files), 400),
    _family("damaged Delta", partial(damaged_tables.bench, samples.delta_tables), 300),
    _family("damaged Iceberg", partial(damaged_tables.bench, samples.iceberg_tables), 200),
    _family("damaged profile stores", damaged_results.stores, 300),
    _family("damaged models", damaged_results.models, 200),
    _family("damaged recipes", damaged_recipes.recipes, 300),
    _family("damaged answers of DataHub", damaged_answers.answers, 300),
)
"""One for each kind of input."""
