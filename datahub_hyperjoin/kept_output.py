"""Keep the earlier output of DataHub's file sink if a run is interrupted or refused.

The sink collects all records and replaces its file when it is closed, however the run ends. After
Ctrl-C, it would replace the output of the last run by the records so far, and if the recipe is
refused, by an empty list. On a full disk, or after SIGTERM, half of the new output would be left.
"""

# DataHub has no extension point for this, so the class of its sink is changed. It creates the sink
# before it imports the source, and passes the source nothing of it. A sink of our own would protect
# only recipes that name it, but `type: file` is what people write. And a second plugin called
# `file`, of sinks or of file systems, would end every run: "key already in use".

import logging
import signal
import sys
from pathlib import Path

from datahub.ingestion.fs.local_fs import LocalFileSystem
from datahub.ingestion.run.pipeline import PipelineInitError
from datahub.ingestion.sink.file import FileSink

from datahub_hyperjoin.ending import on_interrupt
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_close = FileSink.close


def _close_unless_ended(sink: FileSink) -> None:
    match sys.exc_info()[1]:
        case KeyboardInterrupt():
            logger.warning("Run interrupted: %s keeps its earlier content", sink.filename)
        case PipelineInitError():
            logger.warning("Run refused: %s keeps its earlier content", sink.filename)
        case _:
            if isinstance(sink.fs, LocalFileSystem):
                sink.fs = _WholeFiles()
            with on_interrupt(signal.SIG_IGN):  # it could leave half of the file
                _close(sink)  # type: ignore[no-untyped-call]


class _WholeFiles(LocalFileSystem):
    # A file is written as a whole or not at all.
    def write(self, path: str, content: str, **_: object) -> None:
        with replacing(Path(path), private=False) as unfinished:
            unfinished.write_text(content)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    # People pressed Ctrl-C themselves, and the source warns that the run was interrupted.
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


logging.getLogger("datahub.ingestion.run.pipeline").addFilter(_is_no_interrupt)
FileSink.close = _close_unless_ended  # type: ignore[method-assign]
