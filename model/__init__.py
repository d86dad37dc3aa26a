"""Embed the columns of a lake, and rank the candidates of each key column."""

import os

# Torch's threads wait for each other by spinning, unless told otherwise before they first load. On
# two cores with other work to do, an epoch of the quick start took five times as long that way.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
