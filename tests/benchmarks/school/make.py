"""Make lakes for training and for validation, from different sources."""

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.school.plan import LakeKind, draw_draft, make_lake
from benchmarks.school.read import read_databases
from benchmarks.school.sources import Split, read_sources
from benchmarks.school.write import README, describe, write_lake

logger = logging.getLogger(__name__)

_MOST = {Split.TRAIN: (100, 300, 300, 1_000), Split.VALIDATION: (100, 200)}
"""Maximum number of tables in a lake; the lakes of each split cycle through these numbers."""


def make_school(
    out: Path,
    lakes: Mapping[str, int],
    *,
    seed: int,
    cache: Path,
    mirror: Path | None,
    kind: LakeKind | None = None,
) -> None:
    """Make all lakes that do not exist yet.

    Args:
        out: Their folder.
        lakes: How many each split gets.
        seed: Seed of all draws.
        cache: Folder of cloned sources.
        mirror: Folder that holds sources, and is only read.
        kind: The kind of all lakes, unless several are made.
    """
    sources = read_sources()
    for split in Split:
        mine = [source for source in sources if source.split == split]
        pool = read_databases(mine, cache=cache, mirror=mirror)
        rows = {source.database: source.row for source in mine}
        for number in range(lakes[split.value]):
            random = np.random.default_rng((seed, [*Split].index(split), number))
            most = _MOST[split][number % len(_MOST[split])]
            draft = draw_draft(number, random, most=most, kind=kind)
            folder = out / split.value / draft.name
            if not (folder / README).is_file():
                lake, used = make_lake(draft, pool, random)
                how = (
                    f"Kind: {draft.kind.value}; names: {draft.names}; seed {seed}, number {number}."
                )
                about = describe(draft.name, lake, [rows[one] for one in used], how)
                write_lake(lake, folder, about)
                logger.info(
                    "%s: %d tables, %d queries", draft.name, len(lake.tables), len(lake.queries)
                )
