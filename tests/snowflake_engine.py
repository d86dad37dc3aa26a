"""Serve Snowflake's protocol from `fakesnow`, which runs Snowflake's SQL in DuckDB.

`python -I tests/snowflake_engine.py` prints its port, and ends when its standard input does. The
package needs another version of sqlglot than DataHub, and so an environment of its own.

It translates two functions to others that take other types, and leaves out which characters RTRIM
removes; this is corrected here.
"""

import logging
import os
import sys
from importlib import import_module

_CORRECTED = {"ByteLength": "strlen(CAST({} AS VARCHAR))", "Chr": "chr(CAST({} AS INTEGER))"}
"""DuckDB's expressions for the functions OCTET_LENGTH and CHR."""


def main() -> None:
    """Serve until the standard input ends."""
    # Nobody reads what it logs, so that it would wait once the pipe is full.
    logging.disable()
    expressions = import_module("sqlglot.expressions")
    transforms = import_module("sqlglot.dialects.duckdb").DuckDB.generator_class.TRANSFORMS
    for name, template in _CORRECTED.items():
        transforms[getattr(expressions, name)] = lambda generator, call, template=template: (
            template.format(generator.sql(call.this or call.expressions[0]))
        )
    setattr(import_module("fakesnow.transforms"), "trim_cast_varchar", lambda each: each)  # noqa: B010
    with import_module("fakesnow").server() as connection:
        sys.stdout.write(f"{connection['port']}\n")
        sys.stdout.flush()
        sys.stdin.read()
        # Otherwise, it would wait for connections that the tests left open.
        os._exit(0)


if __name__ == "__main__":
    main()
