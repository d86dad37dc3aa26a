"""Set up small lakes that are made from Python lists."""

import numpy as np
import pytest

from lakes.handmade import Know, MakeLake, Tables, facts_of, lake_of


@pytest.fixture
def know() -> Know:
    """Return a function that makes catalog facts from evidence on pairs."""
    return facts_of


@pytest.fixture(scope="session")
def make_lake() -> MakeLake:
    return lake_of


@pytest.fixture(scope="session")
def airline_tables() -> Tables:
    """Make tables of flights, airlines and planes, and two unrelated tables."""
    random = np.random.default_rng(7)
    carriers = [first + second for first in "ABDEFH" for second in "JKLMN"]
    planes = [f"N{number}" for number in range(100, 190)]
    genera = [f"{a}{b}us" for a in ("ros", "quer", "pin", "ac", "sal") for b in "abcdefg"]
    return {
        "flights": {
            "carrier": random.choice(carriers, 300).tolist(),
            "tailnum": random.choice(planes, 300).tolist(),
            "distance": [str(number) for number in random.integers(1, 2000, 300)],
        },
        "airlines": {
            "carrier_code": carriers,
            "name": [f"{code} Airways Ltd" for code in carriers],
        },
        "planes": {
            "tailnum": planes,
            "seats": [str(number) for number in random.integers(1, 300, len(planes))],
        },
        "trees": {"genus": genera, "family": [f"{genus[:3]}aceae" for genus in genera]},
        "herbarium": {
            "genus": random.choice(genera, 120).tolist(),
            "sheet": [f"H-{number:05}" for number in range(120)],
        },
    }
