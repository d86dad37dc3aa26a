"""Write numbers and lists of names in messages."""

from collections.abc import Sequence
from datetime import datetime, timezone


def name_some(names: Sequence[str], most: int = 5) -> str:
    """Return a text that lists the first few names and counts the others.

    Examples:
        >>> name_some(["orders", "planes"])
        'orders, planes'
        >>> name_some(["orders", "planes", "routes"], most=2)
        'orders, planes and 1 more'
    """
    return " ".join([", ".join(names[:most]), *count_others(len(names), most)])


def count_others(count: int, most: int) -> list[str]:
    """Return the end of a list that is cut to `most` names, such as `["and 3 more"]`.

    Examples:
        >>> count_others(3, most=2)
        ['and 1 more']
        >>> count_others(2, most=2)
        []
    """
    return [f"and {count - most} more"] if count > most else []


def join_with_and(names: Sequence[str]) -> str:
    """Return a text that lists all names, the last one after "and".

    Examples:
        >>> join_with_and(["orders"]), join_with_and(["orders", "planes", "routes"])
        ('orders', 'orders, planes and routes')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def number_of(count: int, noun: str) -> str:
    """Return a number with a noun, in the plural unless the number is 1.

    Examples:
        >>> number_of(1, "table"), number_of(1000, "table")
        ('1 table', '1,000 tables')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent, which is 0% and 100% only if it is nothing or everything.

    Examples:
        >>> percent(0.834), percent(0.001), percent(0.999), percent(1.0)
        ('83%', '<1%', '>99%', '100%')
    """
    if 0 < share < 0.01:  # noqa: PLR2004 (one percent)
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"  # noqa: PLR2004 (as above)


def about(estimate: int) -> str:
    """Return an estimated number, rounded to three digits and marked as an estimate.

    Examples:
        >>> about(59_817)
        'about 59,800'
    """
    return f"about {float(f'{estimate:.3g}'):,.0f}"


def day_of(milliseconds: int) -> str:
    """Return the day of a time since 1970, in UTC; empty if it is unknown, which is 0, or no time.

    >>> day_of(1_759_651_200_000), day_of(0)
    ('2025-10-05', '')
    """
    return _moment(milliseconds)[:10]


def minute_of(milliseconds: int) -> str:
    """Return the day and minute of a time since 1970, in UTC; empty if it is unknown or no time.

    >>> minute_of(1_759_651_200_000), minute_of(0)
    ('2025-10-05 at 08:00 UTC', '')
    """
    day, _, time = _moment(milliseconds).partition("T")
    return f"{day} at {time[:5]} UTC" if day else ""


def _moment(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return ""
    return moment.isoformat() if milliseconds else ""
