"""Execute Databricks' SQL on a local Spark, whose SQL it is, for `databricks_driver`.

`databricks_engine.py FOLDER` keeps its tables in the folder, prints its port, and ends
when its standard input does. Each connection has a session of its own, as on a server. Their time
zone is none that anybody expects.
"""

import sys
from contextlib import closing
from multiprocessing.connection import Connection, Listener
from threading import Thread

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

KEY = b"of tests on one machine"
"""The key that both ends of a connection know."""
_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    # Statements of few rows take longer to compile, plan again, describe and compress than to run.
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.maxPlanStringLength": "64",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.shuffle.partitions": "1",
    # Inserts convert texts, as those of other systems do.
    "spark.sql.storeAssignmentPolicy": "LEGACY",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def _answer(session: SparkSession, statement: str, parameters: dict[str, object]) -> object:
    """Return the Arrow bytes of a statement's result, or the text of Spark's error."""
    try:
        frame = session.sql(statement, args=parameters or None)
        # A statement without a result has been executed by now.
        table = frame.toArrow() if frame.columns else pa.table({})
    except PySparkException as error:
        return str(error)
    except Py4JJavaError as error:
        # A task failed; the cause is Spark's own error.
        return str(error.java_exception.getCause().getMessage())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _serve(session: SparkSession, connection: Connection) -> None:
    with closing(connection):
        while True:
            try:
                asked = connection.recv()
            except EOFError:
                return
            connection.send(_answer(session, *asked))


def _accept(session: SparkSession, listener: Listener) -> None:
    while True:
        connection = listener.accept()
        Thread(target=_serve, args=(session.newSession(), connection), daemon=True).start()


def main() -> None:
    """Serve until the standard input ends."""
    builder = SparkSession.builder.master("local[1]")
    for name, value in {**_SETTINGS, "spark.sql.warehouse.dir": sys.argv[1]}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    listener = Listener(("127.0.0.1", 0), authkey=KEY)
    Thread(target=_accept, args=(session, listener), daemon=True).start()
    sys.stdout.write(f"{listener.address[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()
    session.stop()


if __name__ == "__main__":
    main()
