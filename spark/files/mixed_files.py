"""Read files of several formats that are one table, each by the ending of its name."""

from dataclasses import replace
from pathlib import PurePosixPath

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import Paths, TableStream
from datahub_hyperjoin.spark.files.errors import UnknownFormatError
from datahub_hyperjoin.spark.files.formats import MIXED, FileFormat, format_of_suffix
from datahub_hyperjoin.spark.files.stored import COMPRESSIONS, path_of


class MixedFiles(FileFormat):
    """Files of several formats, such as a CSV file of one year and a workbook of the next.

    Of a workbook, the first sheet is read.
    """

    name = MIXED
    title = "files of several formats"

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        path = PurePosixPath(file.uri)
        inner = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
        own = format_of_suffix(inner.suffix)
        if own is None:
            raise UnknownFormatError.named(inner.suffix)
        members = own.list_members(path_of(file)) if own.has_members else [()]
        return own.read(replace(file, format=own.name, member=members[0]), paths)
