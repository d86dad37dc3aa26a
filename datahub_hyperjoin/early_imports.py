"""Import slow libraries while a run waits for other processes."""

from importlib import import_module
from threading import Thread


def import_early(module: str) -> None:
    """Import a module in a thread of its own.

    Whoever imports it later waits only for what is left of that.

    Args:
        module: Full name of the module.
    """
    Thread(target=import_module, args=(module,)).start()
