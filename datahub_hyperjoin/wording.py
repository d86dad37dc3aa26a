"""Shorten lists of names for messages."""

from collections.abc import Sequence


def name_some(names: Sequence[str], most: int = 5) -> str:
    """Return a text that lists the first few names and counts the others.

    Args:
        names: All names, as they are to be written.
        most: Maximum number of names to list.

    Returns:
        The names, separated by commas.

    Examples:
        >>> name_some(["orders", "planes"])
        'orders, planes'
        >>> name_some(["orders", "planes", "routes"], most=2)
        'orders, planes and 1 more'
    """
    return " ".join([", ".join(names[:most]), *count_others(len(names), most)])


def count_others(count: int, most: int) -> list[str]:
    """Return the end of a list that is cut to `most` names, such as `["and 3 more"]`.

    Args:
        count: Number of all names.
        most: Maximum number of names in the list.

    Returns:
        One phrase that ends the list; none if the list is complete.

    Examples:
        >>> count_others(3, most=2)
        ['and 1 more']
        >>> count_others(2, most=2)
        []
    """
    return [f"and {count - most} more"] if count > most else []
