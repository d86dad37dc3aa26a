"""Match the names of tables and columns that people type with full names.

A part of a full name ends at a dot or a slash. Names of tables and paths of columns may both
contain dots.
"""

from collections.abc import Iterator


def ends_in(full: str, typed: str) -> bool:
    """Return whether a typed name is a full name, or the last parts of it.

    Args:
        typed: The name that a person typed.

    >>> ends_in("shop.public.orders", "public.orders"), ends_in("lake/flights.csv", "flights.csv")
    (True, True)
    >>> ends_in("shop.public.back_orders", "orders")
    False
    """
    return full == typed or full.endswith((f"/{typed}", f".{typed}"))


def split_column(typed: str) -> Iterator[tuple[str, str]]:
    """Yield all splits of a typed name into a table and a column, with the longest table first.

    Args:
        typed: A name such as `orders.customer`.

    >>> [*split_column("flights.csv.carrier")]
    [('flights.csv', 'carrier'), ('flights', 'csv.carrier')]
    """
    for at in reversed(range(len(typed))):
        if typed[at] == "." and typed[:at] and typed[at + 1 :]:
            yield typed[:at], typed[at + 1 :]
