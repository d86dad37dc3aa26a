"""Describe the columns of ClickHouse by its own names of types, and write their values as text.

The types of its SQLAlchemy dialect cannot be used: it fails at some names of types, for the whole
table, and leaves values in the time zone, the padding or the precision of their column.
"""

import re

from sqlalchemy.types import UserDefinedType

from datahub_hyperjoin.spark.databases.sql_forms import without_needless_zeros
from datahub_hyperjoin.tables import DataType

_INTEGER = re.compile(r"U?Int[0-9]+")
_WRAPPED = re.compile(
    r"(?:Nullable\(|LowCardinality\(|SimpleAggregateFunction\([^,]*, )(.*)\)", re.DOTALL
)
_AS_TEXT = "CAST(toString({0}) AS Nullable(String))"
_WITHOUT_ZEROS = without_needless_zeros(_AS_TEXT)


def _valid(text: str) -> str:
    """Write the expression that replaces what is no text.

    The driver takes a null character and a digit for another character.
    """
    return f"replaceAll(toValidUTF8({text}), '\\0', '\ufffd')"


_TEXTS = {
    "Bool": _AS_TEXT,
    "Date": _AS_TEXT,
    "Date32": _AS_TEXT,
    # Their time zones only say how points in time are shown.
    "DateTime": "CAST(toString({0}, 'UTC') AS Nullable(String))",
    "DateTime64": "CAST(toString({0}, 'UTC') AS Nullable(String))",
    "Decimal": _WITHOUT_ZEROS,
    "Enum8": _AS_TEXT,
    "Enum16": _AS_TEXT,
    "FixedString": _valid(r"trim(TRAILING '\0' FROM CAST({0} AS Nullable(String)))"),
    "IPv4": _AS_TEXT,
    "IPv6": _AS_TEXT,
    "String": _valid("CAST({0} AS Nullable(String))"),
    "Time": _AS_TEXT,
    "Time64": _WITHOUT_ZEROS,
    "UUID": _AS_TEXT,
    # Python and Arrow have no floats of fewer bits, and would show digits that these do not have.
    "BFloat16": "CAST(toString({0}) AS Nullable(Float64))",
    "Float32": "CAST(toString({0}) AS Nullable(Float64))",
    "Float64": "CAST({0} AS Nullable(Float64))",
}
"""By type, the expression that reads the column `{}`: as text or, if it is a float, as a double."""


class ClickHouseType(UserDefinedType[object]):
    """The type of a column of ClickHouse, by its name."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: object) -> str:
        """Return the name of the type, as SQLAlchemy asks for it."""
        return self.name

    @property
    def family(self) -> str:
        """The name without parameters, and without what allows nulls or stores values once."""
        name = self.name
        while (found := _WRAPPED.fullmatch(name)) is not None:
            name = found[1]
        return name.partition("(")[0]

    @property
    def is_integer(self) -> bool:
        """Whether the values are whole numbers."""
        return _INTEGER.fullmatch(self.family) is not None

    @property
    def read(self) -> str | None:
        """The expression that reads the column `{}`: as text or, if it is a float, as a double.

        None if the values are neither numbers nor texts nor times.
        """
        return _AS_TEXT if self.is_integer else _TEXTS.get(self.family)

    @property
    def opaque(self) -> DataType | None:
        """The type of columns that are not read; None if they are."""
        if self.read:
            return None
        return DataType.BINARY if self.family == "AggregateFunction" else DataType.NESTED
