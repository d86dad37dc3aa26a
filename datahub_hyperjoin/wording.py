"""Phrases that messages share."""

from collections.abc import Sequence


def name_some(names: Sequence[str], most: int = 5) -> str:
    """List some names and count the others.

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
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"
