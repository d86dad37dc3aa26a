"""Convert method names to the form used in file names and on command lines."""

import re


def slug(name: str) -> str:
    """Reduce a name to lower-case letters, digits and hyphens.

    `w/o` becomes `without`.

    >>> slug("w/o HIN"), slug("LSH Ensemble")
    ('without-hin', 'lsh-ensemble')
    """
    spelt = name.lower().replace("w/o", "without").replace("'", "")
    return re.sub(r"[^a-z0-9]+", "-", spelt).strip("-")
