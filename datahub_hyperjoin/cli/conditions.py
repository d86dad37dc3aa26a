"""Parse conditions that choose joins, such as `role=reference and joinability>=0.95`."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from datahub_hyperjoin.cli.errors import ConditionError
from datahub_hyperjoin.joins import Cardinality, Join, Role
from datahub_hyperjoin.names import names_table

Condition = Callable[[Join], bool]
"""A function that returns whether a join meets a condition."""

_PART = re.compile(r"\s*(\w+)\s*(>=|<=|=|>|<)\s*(.+?)\s*")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_FIELDS = ("role", "cardinality", "joinability", "table")
_ROLES = {role.value: role for role in Role}
_CARDINALITIES = {cardinality.words: cardinality for cardinality in Cardinality}


def parse_condition(text: str) -> Condition:
    """Parse comparisons of the role, cardinality, joinability or a table of joins.

    Joins that were not verified on data meet no condition.

    Args:
        text: Comparisons, separated by `and`.

    Raises:
        ConditionError: The text is no condition.
    """
    parts = [_parse_part(part) for part in re.split(r"\s+and\s+", text.strip())]
    return lambda join: join.is_verified and all(part(join) for part in parts)


def _parse_part(text: str) -> Condition:
    match = _PART.fullmatch(text)
    if not match:
        raise ConditionError.malformed(text)
    field, sign, value = match.groups()
    compare = _OPERATORS[sign]
    if field == "joinability":
        limit = _number(value)
        return lambda join: compare(join.joinability, limit)
    if sign != "=":
        raise ConditionError.uncomparable(field)
    match field:
        case "role":
            role = _choose(value, _ROLES)
            return lambda join: join.role is role
        case "cardinality":
            cardinality = _choose(value, _CARDINALITIES)
            return lambda join: join.cardinality is cardinality
        case "table":
            return lambda join: any(names_table(value, table.name) for table in join.tables)
        case _:
            raise ConditionError.of_value(field, _FIELDS)


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise ConditionError.of_value(value, ("a number from 0 to 1",)) from error


def _choose(value: str, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of an enum
    if value not in known:
        raise ConditionError.of_value(value, known)
    return known[value]
