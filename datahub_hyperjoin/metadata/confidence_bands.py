"""The confidence bands of joins."""

from datahub_hyperjoin.joins import Join

BANDS = {"high": 0.8, "medium": 0.65, "low": 0.0}
"""Lowest joinability of each confidence band."""

UNVERIFIED = "unverified"
"""The confidence band of joins whose tables were not read, whatever the joinability."""

NOT_VERIFIED = "not verified on data"
"""Words that mark a join that was not verified on the data."""

BAND_NAMES = (*BANDS, UNVERIFIED)
"""All confidence bands."""


def band(joinability: float) -> str:
    """Return the confidence band of a joinability, such as `high`.

    >>> band(0.93), band(0.7), band(0.5)
    ('high', 'medium', 'low')
    """
    # The bands are listed from the highest to the lowest.
    return next(name for name, lowest in BANDS.items() if joinability >= lowest)


def band_of(join: Join) -> str:
    """Return the confidence band of a join."""
    return UNVERIFIED if join.evidence is None else band(join.joinability)
