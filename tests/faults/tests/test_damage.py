"""Tests of `faults.damage`, which damages the inputs of attacks at random."""

import random

from faults.damage import damage_json


def test_damage_of_one_input_never_reaches_a_later_one() -> None:
    recipe = {"catalog": {"folder": "lake"}, "connections": [{"name": "shop"}]}

    def damage(seed: int) -> object:
        return damage_json(recipe, random.Random(seed))  # noqa: S311 - it must repeat

    first = [damage(seed) for seed in range(300)]
    assert [damage(seed) for seed in range(300)] == first
