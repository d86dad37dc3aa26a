"""Find the table in a single JSON object.

Its members are the columns, or the rows under their keys, or one of them holds the rows, at any
depth.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

from datahub_hyperjoin.spark.files.errors import NoTableInJsonError
from datahub_hyperjoin.spark.files.header import number_columns

JsonObject = Mapping[str, object]


def objects_of(whole: JsonObject) -> Sequence[JsonObject]:
    """Return the rows of a table that is stored as a single JSON object; none if it is no table."""
    if found := _rows_in(whole):
        return found
    lists = {name: value for name, value in whole.items() if isinstance(value, list)}
    lengths = {len(value) for value in lists.values()}
    if lists and len(lists) == len(whole) and len(lengths) == 1 and not _hold_objects(lists):
        return [dict(zip(lists, each, strict=True)) for each in zip(*lists.values(), strict=True)]
    return _keyed_values(whole)


def _rows_in(whole: JsonObject) -> Sequence[JsonObject]:
    """Return the rows that an object holds, under whatever members; none if there are none."""
    lists = {name: value for name, value in whole.items() if isinstance(value, list)}
    if named := _named_rows(whole):
        return named
    rows = {name: value for name, value in lists.items() if are_objects(value)}
    if len(rows) > 1 and len(rows) == len(whole) and _are_keys(rows) and _are_alike(rows.values()):
        return [{_KEY: key, **row} for key, value in rows.items() for row in value]
    if len(rows) > 1:
        raise NoTableInJsonError.but_several([*rows])
    if rows:
        return [*map(_feature_row, next(iter(rows.values())))]
    if keyed := _keyed_rows(whole):
        return keyed
    # Services wrap the rows of their answers in several objects.
    tables = {name: _rows_in(value) for name, value in whole.items() if isinstance(value, dict)}
    found = {name: each for name, each in tables.items() if each}
    if len(found) > 1:
        raise NoTableInJsonError.but_several([*found])
    return next(iter(found.values()), [])


def rows_of_lists(lists: Sequence[object]) -> Sequence[JsonObject]:
    """Return the rows of an array of arrays, whose first one may have the names; else none.

    >>> rows_of_lists([["id", "city"], [7, "Oslo"], [8, "Bern"]])
    [{'id': 7, 'city': 'Oslo'}, {'id': 8, 'city': 'Bern'}]
    >>> rows_of_lists([[7, "Oslo"], [8, "Bern"]])[0]
    {'column0': 7, 'column1': 'Oslo'}
    """
    if not _are_lists(lists) or len({*map(len, lists)}) > 1:
        return []
    names, *rows = lists
    has_digits = [[_has_digit(cell) for cell in row] for row in lists]
    above, *below = has_digits
    is_below_name = (not first and all(others) for first, *others in zip(*has_digits, strict=True))
    is_header = below and _are_names(names) and (not any(above) or any(is_below_name))
    return (
        _split_rows(names, [], rows) if is_header else _split_rows(number_columns(names), [], lists)
    )


def _has_digit(cell: object) -> bool:
    return not isinstance(cell, str) or any(map(str.isdigit, cell))


def _are_names(values: Sequence[object]) -> bool:
    texts = {each for each in values if isinstance(each, str) and each.strip()}
    return 0 < len(texts) == len(values)


def _named_rows(whole: JsonObject) -> Sequence[JsonObject]:
    """Return the rows of a member that holds arrays, with the names that stand elsewhere."""
    data = [value for value in whole.values() if _are_lists(value)]
    if len(data) != 1:
        return []
    [rows] = data
    index = whole.get("index")
    for value in _lists_in(whole):
        names = [each.get("name") if isinstance(each, dict) else each for each in value]
        if {len(names)} == {*map(len, rows)} and _are_names(names):
            return _split_rows(names, index if isinstance(index, list) else [], rows)
    return []


def _lists_in(whole: JsonObject) -> Iterator[list[object]]:
    for value in whole.values():
        if isinstance(value, dict):
            yield from _lists_in(value)
        elif isinstance(value, list):
            yield value


def rows_of_one(elements: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Return the rows that one of a few elements holds and the others do not; else none."""
    found = [(each, _rows_in(each)) for each in elements[:_FEWEST_KEYS]]
    holding = [each for each, rows in found if rows]
    if len(holding) != 1 or len(elements) >= _FEWEST_KEYS:
        return []
    nested = {name for name, value in holding[0].items() if isinstance(value, list | dict)}
    others = [each for each, rows in found if not rows]
    is_alone = all(nested.isdisjoint(each) for each in others)
    return next(rows for _, rows in found if rows) if is_alone else []


def _hold_objects(lists: Mapping[str, list[object]]) -> bool:
    return any(isinstance(each, dict) for value in lists.values() for each in value)


def are_objects(values: object) -> TypeGuard[list[JsonObject]]:
    """Return whether a value is an array of objects."""
    return (
        isinstance(values, list) and bool(values) and all(isinstance(each, dict) for each in values)
    )


def _are_lists(values: object) -> TypeGuard[list[list[object]]]:
    return (
        isinstance(values, list) and bool(values) and all(isinstance(each, list) for each in values)
    )


def _feature_row(row: JsonObject) -> JsonObject:
    """Return the properties of a feature of GeoJSON or TopoJSON, with its id; else the row."""
    is_feature = row.get("type") == "Feature" or "arcs" in row
    if not is_feature or not isinstance(properties := row.get("properties"), dict):
        return row
    return {"feature_id": row["id"], **properties} if "id" in row else properties


def _split_rows(
    names: Sequence[object], index: Sequence[object], data: Sequence[list[object]]
) -> Sequence[JsonObject]:
    """Return the rows that pandas writes with `orient="split"`."""
    rows = [dict(zip(map(str, names), each, strict=False)) for each in data]
    is_key = len(index) == len(rows) and index != [*range(len(rows))]
    return [{_KEY: key, **row} for key, row in zip(index, rows, strict=True)] if is_key else rows


_KEY = "key"
"""The name of the column of keys in an object whose members are the rows."""
_FEWEST_ROWS = 2
_FEWEST_KEYS = 10
"""Fewest members of an object that shows by their names that they are rows: one row may be an
object, too."""
_LEAST_FILLED = 0.5
"""More cells than this share are filled in a table that is an object of objects."""


def _keyed_rows(whole: JsonObject) -> Sequence[JsonObject]:
    """Return the rows of an object of objects, each of which is a row or a column.

    >>> _keyed_rows({"DE": {"name": "Germany", "area": 3}, "FR": {"name": "France", "area": 5}})
    [{'key': 'DE', 'name': 'Germany', 'area': 3}, {'key': 'FR', 'name': 'France', 'area': 5}]
    >>> _keyed_rows({"code": {"0": "DE", "1": "FR"}, "area": {"0": 3, "1": 5}})
    [{'code': 'DE', 'area': 3}, {'code': 'FR', 'area': 5}]
    """
    members = {name: value for name, value in whole.items() if isinstance(value, dict)}
    inner = dict.fromkeys(key for value in members.values() for key in value)
    cells = sum(map(len, members.values()))
    if len(members) < len(whole) or not inner or cells <= _LEAST_FILLED * len(members) * len(inner):
        return []
    if _are_columns(members, [*inner]):
        members = {key: {name: value.get(key) for name, value in members.items()} for key in inner}
    if len(members) < _FEWEST_ROWS:
        return []
    is_numbered = _number_rows([*members])
    return [row if is_numbered else {_KEY: key, **row} for key, row in members.items()]


def _keyed_values(whole: JsonObject) -> Sequence[JsonObject]:
    """Return the rows of an object that has a single value, such as a name, under each code.

    >>> _keyed_values({f"A{at}": "Oslo" for at in range(10)})[0], _keyed_values({"id": 7})
    ({'key': 'A0', 'value': 'Oslo'}, [])
    """
    kinds = {type(value) for value in whole.values() if value is not None}
    is_table = len(whole) >= _FEWEST_KEYS and _are_keys(whole) and kinds in ({str}, {int}, {float})
    return [{_KEY: key, "value": value} for key, value in whole.items()] if is_table else []


def _are_keys(names: Collection[str]) -> bool:
    """Return whether the names of members are codes, and not the names of columns or tables."""
    lengths = {*map(len, names)}
    has_digits = all(any(map(str.isdigit, name)) for name in names)
    return has_digits or (len(names) >= _FEWEST_KEYS and len(lengths) == 1)


def _are_alike(tables: Iterable[Sequence[JsonObject]]) -> bool:
    """Return whether the first rows of all tables have the same members."""
    return len({frozenset(rows[0]) for rows in tables}) == 1


def _are_columns(members: Mapping[str, JsonObject], inner: Sequence[str]) -> bool:
    """Return whether the members of an object are columns, as pandas writes them, and not rows."""
    if _number_rows(inner) or _number_rows([*members]):
        return _number_rows(inner)
    by_member = [{*map(type, each.values())} - {type(None)} for each in members.values()]
    by_key = [
        {type(each[key]) for each in members.values() if key in each} - {type(None)}
        for key in inner
    ]
    # The values of a column have one type.
    mixed, mixed_keys = (sum(len(each) > 1 for each in every) for every in (by_member, by_key))
    if bool(mixed) != bool(mixed_keys):
        return not mixed
    return len(members) < len(inner)


def _number_rows(keys: Sequence[str]) -> bool:
    return [*keys] == [str(at) for at in range(len(keys))]
