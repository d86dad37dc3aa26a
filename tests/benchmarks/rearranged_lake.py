"""Write copies of a lake that say the same: in another order, or with a neighbour more."""

import csv
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Rearrange = Callable[[Path, np.random.Generator], Mapping[str, str]]
"""Changes a copy of a lake, and returns the former names of renamed tables by their new names."""


def shuffle_columns(lake: Path, random: np.random.Generator) -> Mapping[str, str]:
    """Shuffle the columns of each table.

    Args:
        lake: The copy.
        random: Draws the order.
    """
    _rewrite(lake, lambda rows: rows.select(random.permutation(rows.num_columns).tolist()))
    return {}


def shuffle_rows(lake: Path, random: np.random.Generator) -> Mapping[str, str]:
    """Shuffle the rows of each table.

    Args:
        lake: The copy.
        random: Draws the order.
    """
    _rewrite(lake, lambda rows: rows.take(random.permutation(rows.num_rows)))
    return {}


def copy_table(lake: Path, random: np.random.Generator) -> Mapping[str, str]:
    """Add a copy of a table beside it.

    Args:
        lake: The copy.
        random: Draws the table.
    """
    tables = _tables(lake)
    table = tables[int(random.integers(len(tables)))]
    shutil.copyfile(table, table.with_stem(f"{table.stem}_copy"))
    return {}


def add_table(lake: Path, random: np.random.Generator) -> Mapping[str, str]:
    """Add a table that joins with no other.

    Args:
        lake: The copy.
        random: Draws its values.
    """
    numbers = random.choice(10**9, size=500, replace=False)
    rows = pa.table(
        {
            "seal_no": [f"SL-{number:09}" for number in numbers.tolist()],
            "torque": np.round(random.normal(870.5, 3.1, 500), 3),
            "remark": [f"checked by gauge {number}" for number in numbers[::-1].tolist()],
        }
    )
    (lake / "workshop").mkdir()
    _write(rows, lake / "workshop" / "seals.csv")
    return {}


def rename_folder(lake: Path, random: np.random.Generator) -> Mapping[str, str]:
    """Rename a folder.

    Args:
        lake: The copy.
        random: Draws the folder and its name.
    """
    folders = sorted({path.parent for path in _tables(lake)} - {lake})
    if not folders:
        return {}
    folder = folders[int(random.integers(len(folders)))]
    to = folder.rename(folder.with_name("".join(map(chr, random.integers(97, 123, 8)))))
    return {_name(path, lake): f"{folder.relative_to(lake)}/{path.name}" for path in _tables(to)}


def _name(path: Path, lake: Path) -> str:
    return path.relative_to(lake).as_posix()


def _tables(lake: Path) -> list[Path]:
    return sorted(path for path in lake.rglob("*") if path.suffix in {".csv", ".parquet"})


def _rewrite(lake: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    for path in _tables(lake):
        _write(change(_read(path)), path)


def _read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    # As texts, so that nothing changes but the order.
    with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        header, *rows = csv.reader(file)
    even = [[*row, *[""] * len(header)][: len(header)] for row in rows if row]
    columns = [pa.array([_packed(cell) for cell in cells]) for cells in zip(*even, strict=True)]
    return pa.table(columns or [pa.array([], pa.binary())] * len(header), names=header)


def _write(rows: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(rows, path)
        return
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        writer.writerow(rows.column_names)
        columns = ([_unpacked(cell) for cell in column.to_pylist()] for column in rows.columns)
        writer.writerows(zip(*columns, strict=True))


def _packed(cell: str) -> bytes:
    return cell.encode("utf-8", "surrogateescape")


def _unpacked(cell: object) -> object:
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell
