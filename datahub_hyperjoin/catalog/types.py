"""Convert DataHub's column types to this package's data types."""

import re
from collections.abc import Mapping

from datahub.metadata.schema_classes import (
    ArrayTypeClass,
    BooleanTypeClass,
    BytesTypeClass,
    DateTypeClass,
    FixedTypeClass,
    MapTypeClass,
    NumberTypeClass,
    RecordTypeClass,
    SchemaFieldClass,
    TimeTypeClass,
    UnionTypeClass,
)

from datahub_hyperjoin.tables import DataType

_TYPES: Mapping[type, DataType] = {
    ArrayTypeClass: DataType.NESTED,
    BooleanTypeClass: DataType.BOOLEAN,
    BytesTypeClass: DataType.BINARY,
    DateTypeClass: DataType.DATE,
    FixedTypeClass: DataType.BINARY,
    MapTypeClass: DataType.NESTED,
    NumberTypeClass: DataType.INTEGER,
    RecordTypeClass: DataType.NESTED,
    TimeTypeClass: DataType.TIMESTAMP,
    UnionTypeClass: DataType.NESTED,
}
"""Data type for each class of types in DataHub; columns of any other class hold text."""
_FRACTION = re.compile(r"float|double|real|\(\s*\d+\s*,\s*[1-9]", re.IGNORECASE)
"""Matches the native names of number types with decimals, such as `decimal(10,2)`."""


def declared_type(field: SchemaFieldClass) -> DataType:
    """Return the type that DataHub declares for a column."""
    declared = _TYPES.get(type(field.type.type), DataType.TEXT)
    if declared is DataType.INTEGER and _FRACTION.search(field.nativeDataType or ""):
        return DataType.DECIMAL
    return declared
