"""Test how the column types that DataHub declares are simplified."""

import pytest
from datahub.metadata.schema_classes import (
    ArrayTypeClass,
    BooleanTypeClass,
    EnumTypeClass,
    NullTypeClass,
    NumberTypeClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    StringTypeClass,
    TimeTypeClass,
)

from datahub_hyperjoin.catalog.datasets import declared_type
from datahub_hyperjoin.tables import DataType


@pytest.mark.parametrize(
    ("kind", "native", "expected"),
    [
        (StringTypeClass, "varchar(20)", DataType.TEXT),
        (EnumTypeClass, "mood", DataType.TEXT),
        (NullTypeClass, "", DataType.TEXT),
        (NumberTypeClass, "bigint", DataType.INTEGER),
        (NumberTypeClass, "NUMBER(38, 0)", DataType.INTEGER),
        (NumberTypeClass, "decimal(10,2)", DataType.DECIMAL),
        (NumberTypeClass, "double precision", DataType.DECIMAL),
        (BooleanTypeClass, "boolean", DataType.BOOLEAN),
        (TimeTypeClass, "timestamptz", DataType.TIMESTAMP),
        (ArrayTypeClass, "text[]", DataType.NESTED),
    ],
)
def test_a_declared_type_is_simplified(
    kind: type[StringTypeClass], native: str, expected: DataType
) -> None:
    field = SchemaFieldClass(
        fieldPath="x", type=SchemaFieldDataTypeClass(type=kind()), nativeDataType=native
    )
    assert declared_type(field) is expected
