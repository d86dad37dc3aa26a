"""Names of methods, as file names and command lines have them."""

import re


def slug(name: str) -> str:
    """A name in lower-case letters, digits and hyphens.

    Args:
        name: As reports have it.

    Returns:
        The same for all ways to write it; `w/o` is spelt out.

    >>> slug("w/o HIN"), slug("LSH Ensemble")
    ('without-hin', 'lsh-ensemble')
    """
    spelt = name.lower().replace("w/o", "without").replace("'", "")
    return re.sub(r"[^a-z0-9]+", "-", spelt).strip("-")
