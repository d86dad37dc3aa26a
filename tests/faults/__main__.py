"""Carry out all attacks and print how many of them the package survived.

Run it from a checkout: `make test-faults`, or `make test-faults FAULTS=long` for more tries. The
exit status is 1 if any attack succeeded.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from tabulate import tabulate

from faults import chaos, kills, mutations
from faults.outcome import Outcome

Attack = Callable[[int, bool], Outcome]
"""Takes the seed of all random choices, and whether to try more often."""

ATTACKS: Sequence[Attack] = (*mutations.ATTACKS, *kills.ATTACKS, *chaos.ATTACKS)


def main() -> int:
    """Print a line for each attack, then the descriptions of those that succeeded."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--long", action="store_true", help="try more often; takes an hour")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random choices")
    options = parser.parse_args()
    rows, failures = [], list[str]()
    for attack in ATTACKS:
        began = time.monotonic()
        outcome = attack(options.seed, options.long)
        seconds = time.monotonic() - began
        survived = outcome.tries - len(outcome.failures)
        rows.append((outcome.attack, outcome.tries, survived, outcome.worst, f"{seconds:.0f}"))
        failures += outcome.failures
        print(f"{outcome.attack}: {survived} of {outcome.tries} survived", file=sys.stderr)
    print(tabulate(rows, headers=("attack", "tries", "survived", "worst case", "seconds")))
    print(*failures, sep="\n")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
