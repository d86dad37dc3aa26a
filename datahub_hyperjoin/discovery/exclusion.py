"""Leave out tables whose names fit patterns."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase


class Exclusion:
    """The tables that a search leaves out, by patterns of their names.

    Args:
        patterns: Names, or endings of names after a dot or slash, with the wildcards `*`, `?` and
            `[abc]`.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = tuple(patterns)
        self.unused = dict.fromkeys(self._patterns)
        """The patterns that no table has fitted yet."""
        self.left_out = 0
        """Number of tables that were left out."""

    def keeps(self, name: str) -> bool:
        """Return whether a table is searched.

        Examples:
            >>> exclusion = Exclusion(["audit_*", "public.log"])
            >>> [exclusion.keeps(name) for name in ("public.audit_2024", "public.log", "log")]
            [False, False, True]
        """
        names = [*_endings(name)]
        fitting = [
            each for each in self._patterns if any(fnmatchcase(name, each) for name in names)
        ]
        for each in fitting:
            self.unused.pop(each, None)
        self.left_out += bool(fitting)
        return not fitting


def _endings(name: str) -> Iterator[str]:
    yield name
    yield from (name[at + 1 :] for at, sign in enumerate(name) if sign in "./")
