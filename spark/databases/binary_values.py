"""Read bytes from databases as hexadecimal digits, which all drivers return alike.

Databases write the digits themselves, and return null for bytes that are too long for a key, so
that no image is ever sent.
"""

from sqlalchemy.types import LargeBinary, TypeEngine, _Binary

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES


def _short(length: str, digits: str) -> str:
    return f"CASE WHEN {length} <= {MOST_KEY_BYTES} THEN {digits} END"


HEX_DIGITS = {
    "bigquery": _short("byte_length({0})", "to_hex({0})"),
    "databricks": _short("octet_length({0})", "lower(hex({0}))"),
    "mariadb": _short("length({0})", "convert(lower(hex({0})) USING utf8mb4)"),
    "postgresql": _short("octet_length({0})", "encode({0}, 'hex')"),
    "redshift": _short("octet_length({0})", "lower(from_varbyte({0}, 'hex'))"),
    "snowflake": _short("octet_length({0})", "hex_encode({0}, 0)"),
    # A column may hold values of any type, whatever its own type is.
    "sqlite": f"CASE WHEN typeof({{0}}) <> 'blob' THEN {{0}} "
    f"WHEN length({{0}}) <= {MOST_KEY_BYTES} THEN lower(hex({{0}})) END",
    "trino": _short("length({0})", "lower(to_hex({0}))"),
}
"""For each database system, the SQL expression of the hexadecimal digits of the bytes `{0}`."""
HEX_DIGITS["mysql"] = HEX_DIGITS["mariadb"]
_FOR_CONTENTS = {"MEDIUMBLOB", "LONGBLOB"}
"""Types of columns that hold no keys, and that are expensive to look into."""


def is_binary(type_: TypeEngine[object]) -> bool:
    """Return whether the values of a column are bytes."""
    return isinstance(type_, (_Binary, LargeBinary))


def has_digits(type_: TypeEngine[object], system: str) -> bool:
    """Return whether the values of a column are bytes that are read as hexadecimal digits."""
    name, length = type(type_).__name__, getattr(type_, "length", None) or 0
    # In other systems than MySQL and MariaDB, this is the greatest length, not that of all values.
    is_wide = name == "BINARY" and length > MOST_KEY_BYTES and system in {"mariadb", "mysql"}
    is_long = name in _FOR_CONTENTS or is_wide
    return is_binary(type_) and system in HEX_DIGITS and not is_long
