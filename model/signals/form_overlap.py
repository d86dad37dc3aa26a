"""Estimate the overlap of columns whose values match only after conversion to one form.

A column of padded digits, decimal commas or dates in another order has a second sketch, of its
values in the form that they write (see `value_forms`). The sketches of columns without a notation
serve for every form.

Most such pairs share no value as written, so their overlap in the form takes its place. Where
values as written explain a pair nearly as well, they stay: a form is weaker evidence than equality.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.chance import expected_containment
from datahub_hyperjoin.model.signals.overlap import ValueOverlap, estimate_pairs
from datahub_hyperjoin.model.signals.pairs import SparsePairs
from datahub_hyperjoin.model.signals.shared_values import MAX_POSTINGS
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches
from datahub_hyperjoin.tables import ColumnProfile
from datahub_hyperjoin.value_forms import ValueForm

_MIN_GAIN = 2.0
"""Minimum ratio of the containment after conversion to a value form to the containment before it.
The verification on all rows uses the same ratio."""


def add_form_overlap(lake: Lake, overlap: ValueOverlap) -> ValueOverlap:
    """Add the pairs that overlap much more in a common value form than as written.

    A value form is one way of writing values, such as all dates as `2024-01-31`. If a pair also
    overlaps as written, its overlap in the value form takes the place of that overlap.

    Returns:
        The overlap with these pairs; the same if no column is sketched in another form.
    """
    forms = [_form_of(profile) for profile in lake.profiles]
    for form in ValueForm:
        members = np.array([own is form for own in forms], dtype=bool)
        if members.any():
            overlap = _add_gains(overlap, _measure_in_form(lake, overlap, members))
    return overlap


def _form_of(profile: ColumnProfile) -> ValueForm | None:
    return profile.notation.form if profile.notation and profile.form_sketch else None


def _sketch_in_form(profile: ColumnProfile, *, is_member: bool) -> bytes:
    """Choose the sketch of a column for comparisons in one value form.

    `is_member` tells whether the column's notation has this form. A column without a notation keeps
    its usual sketch, and a column whose notation has another form gets an empty one.
    """
    if is_member:
        return profile.form_sketch
    return b"" if _form_of(profile) else profile.sketch


def _measure_in_form(
    lake: Lake, overlap: ValueOverlap, members: Bool[np.ndarray, " column"]
) -> ValueOverlap:
    """Estimate how columns overlap if the values of `members` are converted to one value form.

    `members` marks the columns whose values are converted.
    """
    columns = zip(lake.profiles, members, strict=True)
    sketches = [_sketch_in_form(profile, is_member=bool(member)) for profile, member in columns]
    pairs = estimate_pairs(lake, sketches, _count_with_members(sketches, members))
    left, right, _, containment = pairs
    # In a form, the values are numbers, dates or times, whatever they are as written.
    by_form = expected_containment(lake.is_text & ~members, left, right, containment)
    # Other columns are paired with members only, so their pairs as written complete the mean.
    as_written = expected_containment(
        lake.is_text, overlap.left, overlap.right, overlap.containment
    )
    expected = by_form + np.where(members, 0.0, as_written)
    beyond_chance = np.maximum(containment - expected[left], 0.0)
    return ValueOverlap(len(lake), *pairs, beyond_chance, overlap.least_chance)


def _count_with_members(
    sketches: Sequence[bytes], members: Bool[np.ndarray, " column"]
) -> sparse.coo_array:
    """Count the hashes that each column shares with each of the columns in `members`.

    `members` marks the columns whose values the form rewrites. Both orders of a pair are counted.

    Only hashes of members matter, which leaves little of a lake where few columns have a form.
    """
    hashes, bounds = concatenate_sketches(sketches)
    column = np.repeat(np.arange(len(members)), np.diff(bounds))
    wanted = np.unique(hashes[members[column]])
    value = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
    chosen = wanted[value] == hashes
    chosen &= np.bincount(value[chosen], minlength=len(wanted))[value] <= MAX_POSTINGS
    column, value = column[chosen], value[chosen]
    holds, held_by_members = (
        sparse.csr_array(
            (np.ones(mask.sum(), dtype=np.int32), (column[mask], value[mask])),
            shape=(len(members), len(wanted)),
        )
        for mask in (np.ones(len(column), dtype=bool), members[column])
    )
    counts = held_by_members @ holds.T
    return counts.maximum(counts.T).tocoo()


def _add_gains(overlap: ValueOverlap, in_form: ValueOverlap) -> ValueOverlap:
    """Add to `overlap` the pairs that overlap much more in `in_form` than in `overlap`.

    `overlap` compares values as written. `in_form` compares them in a value form, which writes all
    dates as `2024-01-31`, for example. An added pair replaces the same pair of `overlap`.
    """
    written = _either_containment(overlap, in_form)
    gains = _either_containment(in_form, in_form) > _MIN_GAIN * written
    if not gains.any():
        return overlap
    replaced = overlap.locate(in_form.left[gains], in_form.right[gains])
    kept = np.ones(len(overlap.left), dtype=bool)
    kept[replaced[replaced >= 0]] = False
    left = np.concatenate([overlap.left[kept], in_form.left[gains]])
    right = np.concatenate([overlap.right[kept], in_form.right[gains]])
    # Pairs are looked up by binary search.
    order = np.lexsort((right, left))

    def merge(name: str) -> np.ndarray:
        parts = (getattr(overlap, name)[kept], getattr(in_form, name)[gains])
        return np.concatenate(parts)[order]

    return ValueOverlap(
        overlap.columns,
        left[order].astype(np.int32),
        right[order].astype(np.int32),
        shared=merge("shared").astype(np.int32),
        containment=merge("containment").astype(np.float32),
        beyond_chance=merge("beyond_chance").astype(np.float32),
        least_chance=overlap.least_chance,
        cut=overlap.cut,
    )


def _either_containment(overlap: ValueOverlap, pairs: SparsePairs) -> Float[np.ndarray, " pair"]:
    """For each pair, return the greater of its two containments."""
    forth = overlap.look_up(overlap.containment, pairs.left, pairs.right)
    return np.maximum(forth, overlap.look_up(overlap.containment, pairs.right, pairs.left))
