"""Make the README's links absolute for the package index.

The README links to files of the repository by relative paths, which work in a checkout, a fork and
on GitHub but not on a package index. The built package gets absolute links instead.
"""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
REPOSITORY = "https://github.com/datahub-hyperjoin/datahub-hyperjoin/"
FILES, PICTURES = f"{REPOSITORY}blob/main/", f"{REPOSITORY}raw/main/"


def with_absolute_links(markdown: str) -> str:
    """Replace the relative links in a text with absolute URLs."""
    relative = r"(?!https?:|mailto:|#)(?:\./)?"
    shown = re.sub(rf"(!\[[^\]]*\]\(){relative}", rf"\1{PICTURES}", markdown)
    return re.sub(rf"\]\({relative}", f"]({FILES}", shown)


if __name__ == "__main__":  # setuptools runs this file as a script; tests import it
    setup(
        long_description=with_absolute_links((ROOT / "README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
    )
