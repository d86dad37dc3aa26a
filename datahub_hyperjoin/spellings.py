"""Match names that may differ in upper and lower case.

DataHub's connectors write the names of tables, and sometimes of columns, in lower case where their
`convert_urns_to_lowercase` says so.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

_Name = TypeVar("_Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Spelled(Generic[_Name]):
    """The known spelling of each name, and the names with several possible spellings."""

    matched: Mapping[_Name, _Name]
    """The known spelling of each name that has one."""

    unclear: Mapping[_Name, tuple[_Name, ...]]
    """For each name that is not matched, the known spellings that nobody else has. A known spelling
    that several names want is not guessed, either."""


def match_spellings(
    names: Collection[_Name], known: Collection[_Name], fold: Callable[[_Name], Hashable]
) -> Spelled[_Name]:
    """Match names with known ones: first those of equal spelling, then those that differ in case.

    >>> match_spellings(["Id", "name"], ["id", "name"], str.casefold).matched
    {'Id': 'id', 'name': 'name'}
    >>> match_spellings(["id", "ID"], ["id"], str.casefold).matched
    {'id': 'id'}
    >>> match_spellings(["Id"], ["id", "ID"], str.casefold).unclear
    {'Id': ('id', 'ID')}
    """
    own, others = frozenset(names), frozenset(known)
    matched = {name: name for name in names if name in others}
    missing = [name for name in dict.fromkeys(names) if name not in others]
    if not missing:
        return Spelled(matched, {})
    alike: dict[Hashable, list[_Name]] = defaultdict(list)
    for name in known:
        alike[fold(name)].append(name)
    wanted = Counter(map(fold, missing))
    unclear: dict[_Name, tuple[_Name, ...]] = {}
    for name in missing:
        spellings = alike.get(fold(name), [])
        free = tuple(spelling for spelling in spellings if spelling not in own)
        if len(spellings) == len(free) == wanted[fold(name)] == 1:
            matched[name] = free[0]
        elif free:
            unclear[name] = free
    return Spelled({name: matched[name] for name in names if name in matched}, unclear)


def find_spelling(name: str, known: Collection[str]) -> str:
    """Return the known spelling of a name; the name itself if there is none, or more than one.

    >>> find_spelling("Id", {"id"}), find_spelling("Id", {"id", "ID"}), find_spelling("id", {})
    ('id', 'Id', 'id')

    Args:
        known: The known names, among which a name is found at once, as in a set.
    """
    if name in known:
        return name
    alike = [other for other in known if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else name
