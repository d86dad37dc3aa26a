"""Carry out all attacks, and print how many of them the package survived.

Run it from a checkout: `make test-faults`, or `make test-faults FAULTS=long` for more tries. Texts
in `ONLY`, such as `ONLY="damaged server:"`, choose the attacks whose names contain one of them. The
exit status is 1 if any attack succeeded.
"""

import argparse
import signal
import sys
import time
from collections.abc import Mapping

from tabulate import tabulate

from faults import chaos, databases, decision_files, ends, kills, mutations, names, pools
from faults.outcome import Attack

ATTACKS: Mapping[str, Attack] = {
    **mutations.ATTACKS,
    **kills.ATTACKS,
    **chaos.ATTACKS,
    **databases.ATTACKS,
    **names.ATTACKS,
    **decision_files.ATTACKS,
    **ends.ATTACKS,
    **pools.ATTACKS,
}


def main() -> int:
    """Carry out the chosen attacks, and print each failure and a table of results."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--long", action="store_true", help="try more often; takes an hour")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random choices")
    parser.add_argument("only", nargs="*", default=[""], help="texts in the names of attacks")
    options = parser.parse_args()
    # Programs inherit ignored signals, and `nohup` and shells in the background ignore these.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = [name for name in ATTACKS if any(text in name for text in options.only)]
    rows, all_survived = [], True
    for name in chosen:
        began = time.monotonic()
        outcome = ATTACKS[name](options.seed, options.long)
        seconds = time.monotonic() - began
        survived = outcome.tries - len(outcome.failures)
        rows.append((name, outcome.tries, survived, outcome.worst, f"{seconds:.0f}"))
        all_survived = all_survived and not outcome.failures
        print(f"{name}: {survived} of {outcome.tries} survived", *outcome.failures, sep="\n")
    print(tabulate(rows, headers=("attack", "tries", "survived", "worst case", "seconds")))
    return not all_survived


if __name__ == "__main__":
    sys.exit(main())
