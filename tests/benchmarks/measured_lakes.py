"""Measure labelled lakes with and without their names and values, and store the results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from datahub_hyperjoin.evaluate.labelled_lake import read_labelled_lakes
from datahub_hyperjoin.evaluate.run import EvaluationProgress, ProfiledLake, profile_lakes
from datahub_hyperjoin.tables import ColumnId, TableProfile

_TOGETHER = 8
"""Number of lakes that are profiled in one Spark session."""


class Guise(Enum):
    """Whether a measurement reads the names of a lake, the values, both or neither.

    The types and counts of columns are always read.
    """

    WHOLE = "named"
    """The measurement reads names and values."""

    NAMELESS = "nameless"
    """The measurement reads values but no names."""

    VALUELESS = "valueless"
    """The measurement reads names but no values."""

    BARE = "bare"
    """The measurement reads neither names nor values."""

    @property
    def names(self) -> bool:
        """Whether names are read."""
        return self in {Guise.WHOLE, Guise.VALUELESS}

    @property
    def values(self) -> bool:
        """Whether values are read."""
        return self in {Guise.WHOLE, Guise.NAMELESS}


AnyGuise = TypeVar("AnyGuise", bound=Enum)

Save = Callable[[ProfiledLake, AnyGuise, Path], None]
"""A function that measures a lake with or without its names or values, and writes a file."""


def guise_file(folder: Path, cache: Path, guise: Enum) -> Path:
    """Return the file that holds the measurements of a lake in the given guise.

    Args:
        folder: The lake.
        cache: The folder of such files.
        guise: What is read of the lake.
    """
    split, name = folder.resolve().parts[-2:]
    return cache / f"{split}-{name}-{guise.value}.npz"


def measure_missing(
    files: Mapping[Path, Mapping[AnyGuise, Path]],
    save: Save[AnyGuise],
    progress: EvaluationProgress,
) -> None:
    """Profile the lakes for which a file is missing, and write the missing files.

    Args:
        files: The files of each lake.
        save: Measures a profiled lake, and writes a file.
        progress: Receives the progress.
    """
    missing = [folder for folder, own in files.items() if not all(map(Path.exists, own.values()))]
    for start in range(0, len(missing), _TOGETHER):
        labelled = read_labelled_lakes(missing[start : start + _TOGETHER])
        for lake in profile_lakes(labelled, {}, progress):
            _save_missing(lake, files[lake.labelled.folder], save)


def _save_missing(lake: ProfiledLake, files: Mapping[AnyGuise, Path], save: Save[AnyGuise]) -> None:
    for guise, file in files.items():
        if not file.exists():
            # An interrupted run leaves no file that looks complete.
            part = file.with_name(f"part-{file.name}")
            save(lake, guise, part)
            part.rename(file)


def hide_names(tables: Sequence[TableProfile]) -> tuple[TableProfile, ...]:
    """Replace the names of all tables and columns with numbers.

    Args:
        tables: The profiles of a lake's tables.
    """
    return tuple(_hide(table, number) for number, table in enumerate(tables))


def _hide(profile: TableProfile, number: int) -> TableProfile:
    title = f"t{number}"
    table = replace(profile.table, id=replace(profile.table.id, name=title), title=title)
    columns = tuple(
        replace(column, id=ColumnId(table.id, f"c{number}x{position}"))
        for position, column in enumerate(profile.columns)
    )
    return replace(profile, table=table, columns=columns)
