"""Find the table in a single JSON object.

Its members are the columns, or the rows under their keys, or one of them holds the rows.
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from datahub_hyperjoin.spark.files.errors import NoTableInJsonError

JsonObject = Mapping[str, object]


def objects_of(whole: JsonObject) -> Sequence[JsonObject]:
    """Return the rows of a table that is stored as a single JSON object; none if it is no table."""
    lists = {name: value for name, value in whole.items() if isinstance(value, list)}
    rows = {name: value for name, value in lists.items() if _are_objects(value)}
    if len(rows) > 1:
        raise NoTableInJsonError.but_several([*rows])
    if rows:
        return [*map(_feature_row, next(iter(rows.values())))]
    if "columns" in lists and _are_lists(data := lists.get("data")):
        return _split_rows(lists["columns"], lists.get("index", []), data)
    lengths = {len(value) for value in lists.values()}
    has_objects = any(isinstance(each, dict) for value in lists.values() for each in value)
    if lists and len(lists) == len(whole) and len(lengths) == 1 and not has_objects:
        return [dict(zip(lists, each, strict=True)) for each in zip(*lists.values(), strict=True)]
    if keyed := _keyed_rows(whole):
        return keyed
    tables = {name: _keyed_rows(value) for name, value in whole.items() if isinstance(value, dict)}
    found = {name: each for name, each in tables.items() if each}
    if len(found) > 1:
        raise NoTableInJsonError.but_several([*found])
    return next(iter(found.values()), [])


def _are_objects(values: object) -> TypeGuard[list[JsonObject]]:
    return (
        isinstance(values, list) and bool(values) and all(isinstance(each, dict) for each in values)
    )


def _are_lists(values: object) -> TypeGuard[list[list[object]]]:
    return (
        isinstance(values, list) and bool(values) and all(isinstance(each, list) for each in values)
    )


def _feature_row(row: JsonObject) -> JsonObject:
    """Return the properties of a feature of GeoJSON, with its id; any other row as it is."""
    if row.get("type") != "Feature" or not isinstance(properties := row.get("properties"), dict):
        return row
    return {"feature_id": row["id"], **properties} if "id" in row else properties


def _split_rows(
    names: list[object], index: list[object], data: list[list[object]]
) -> Sequence[JsonObject]:
    """Return the rows that pandas writes with `orient="split"`."""
    rows = [dict(zip(map(str, names), each, strict=False)) for each in data]
    is_key = len(index) == len(rows) and index != [*range(len(rows))]
    return [{_KEY: key, **row} for key, row in zip(index, rows, strict=True)] if is_key else rows


_KEY = "key"
"""The name of the column of keys in an object whose members are the rows."""
_FEWEST_ROWS = 2
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
