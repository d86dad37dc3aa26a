"""Pause Python's garbage collector while the source's modules are imported.

Hundreds of modules create objects that live as long as the process. The collector would visit them
again and again, which takes a quarter of the time of all imports. The pause begins when this module
is imported, and ends with `resume`.
"""

import gc

from datahub_hyperjoin.spark.memory import exempt_imports

_was_enabled = gc.isenabled()
gc.disable()


def resume() -> None:
    """Exclude what was imported from garbage collection, and end the pause."""
    exempt_imports()
    if _was_enabled:
        gc.enable()
