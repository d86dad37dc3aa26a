"""Checks that a wheel holds the package whole, linked folders included, and nothing else."""

import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("datahub_hyperjoin", "datahub_hyperjoin/model", "datahub_hyperjoin/spark")


def files_of_the_package() -> set[str]:
    """Every file of the tree that belongs into the wheel, by its path there: all but prose."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.parent.name != "__pycache__" and path.suffix != ".md"
    }


def files_of_the_wheel(wheel: Path) -> set[str]:
    """Every file of the wheel but its metadata."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def main(wheel: Path) -> None:
    """Exit with a sentence that names the difference, if there is one."""
    expected, found = files_of_the_package(), files_of_the_wheel(wheel)
    if expected != found:
        sys.exit(
            f"{wheel} lacks {sorted(expected - found)} and has {sorted(found - expected)} too "
            "many. Look at [tool.setuptools] in pyproject.toml"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
