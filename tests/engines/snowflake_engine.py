"""Serve Snowflake's protocol from `fakesnow`, which runs Snowflake's SQL in DuckDB.

`python -I snowflake_engine.py` prints its port, and ends when its standard input does. The
package needs another version of sqlglot than DataHub, and so an environment of its own.

It translates two functions to others that take other types, and leaves out which characters RTRIM
removes. What it cannot do, it answers with HTTP's status 500, which the driver takes for a fault
that will pass, and so tries again without end. All this is corrected here.
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
    # The package's function, before importing its module of the same name hides it.
    serve = import_module("fakesnow").server
    _answer_faults()
    with serve() as connection:
        sys.stdout.write(f"{connection['port']}\n")
        sys.stdout.flush()
        sys.stdin.read()
        # Otherwise, it would wait for connections that the tests left open.
        os._exit(0)


def _answer_faults() -> None:
    """Answer what the emulator cannot do as an error of the statement, with the reason."""
    error = import_module("fakesnow.server").ServerError
    begin = error.__init__

    def answer(self: object, status_code: int, code: str, message: str) -> None:
        if (fault := sys.exc_info()[1]) and status_code == 500:
            status_code, message = 200, str(fault)
        begin(self, status_code, code, message)

    error.__init__ = answer


if __name__ == "__main__":
    main()
