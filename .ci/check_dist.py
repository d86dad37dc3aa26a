"""Check the wheel and the source archive that `make build` creates.

The wheel must hold the whole package, linked folders included, and no other file. The source
archive must hold the documents, the recipes and the tests as well. A package index shows the
description outside of the repository, so it may not have relative links.
"""

import re
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ("datahub_hyperjoin", "datahub_hyperjoin/model", "datahub_hyperjoin/spark")
BESIDE_THE_PACKAGE = (".ci", "docs", "ingestion_recipes", "tests")
DOCUMENTS = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "Makefile",
    "constraints.txt",
}


def files_below(folders: tuple[str, ...]) -> set[str]:
    """Return the paths of all files in some folders, except compiled Python files."""
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix() for path in paths if path.parent.name != "__pycache__"
    }


def files_of_the_wheel(wheel: Path) -> set[str]:
    """Return the paths of all files in a wheel except its metadata."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def files_of_the_sdist(sdist: Path) -> set[str]:
    """Return the paths of all files in a source archive, relative to its top folder."""
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def relative_links(wheel: Path) -> list[str]:
    """Return the relative links in the wheel's description."""
    with ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        description = archive.read(metadata).decode()
    return re.findall(r"\]\((?!https?:|mailto:|#)([^)]*)\)", description)


def main(folder: Path) -> None:
    """Exit with an error message if the wheel, its description or the source archive is wrong."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    package = {path for path in files_below(PACKAGE) if not path.endswith(".md")}
    packed = files_of_the_wheel(wheel)
    if package != packed:
        sys.exit(
            f"{wheel} lacks {sorted(package - packed)} and has {sorted(packed - package)} too "
            "many. Correct [tool.setuptools] in pyproject.toml"
        )
    if missing := (package | files_below(BESIDE_THE_PACKAGE) | DOCUMENTS) - files_of_the_sdist(
        sdist
    ):
        sys.exit(f"{sdist} lacks {sorted(missing)}. Correct MANIFEST.in")
    if links := relative_links(wheel):
        sys.exit(f"the description of {wheel} has the relative links {links}. Correct setup.py")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
