"""A sink that writes each record to a file at once, and keeps none in memory.

A DataHub server receives records in the same way.

DataHub's own file sink keeps all records, and then the text of the file, in memory. That is the
sink's memory, not the source's, and most of what writing takes in a large lake.
"""

import json
from typing import Any

from datahub.ingestion.api.common import RecordEnvelope
from datahub.ingestion.api.sink import WriteCallback
from datahub.ingestion.sink.file import FileSink


class StreamingFileSink(FileSink):
    """A variant of DataHub's file sink that keeps no list of records."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._file = open(self.filename, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        self._file.write("[")

    def write_record_async(
        self, record_envelope: RecordEnvelope[Any], write_callback: WriteCallback
    ) -> None:
        """Write one record to the file."""
        separator = ",\n" if self.report.total_records_written else "\n"
        super().write_record_async(record_envelope, write_callback)
        self._file.write(separator + json.dumps(self.records.pop(), indent=4))

    def close(self) -> None:
        """End the file."""
        self._file.write("\n]")
        self._file.close()
