"""Find joins without a recipe, and keep the intermediate results for explanations."""

from collections.abc import Sequence
from pathlib import Path

from datahub_hyperjoin.catalog.databases import read_database_keys
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.copies import copy_views
from datahub_hyperjoin.discovery.inputs import Source, list_sources
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.profiles.routes import need_spark
from datahub_hyperjoin.spark.session import lazy_session
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.suggest import LakeComparison, compare_values


def compare_sources(
    sources: Sequence[Source], progress: RunProgress, model: ModelConfig
) -> tuple[LakeComparison, CatalogFacts]:
    """Find joins in data sources; return them with intermediate results and declared keys.

    Returns:
        The findings with what they follow from, and the keys that databases declare.
    """
    profile = ProfileConfig()
    with temporary_folder() as copies, lazy_session(SessionConfig()) as session:
        tables = list_sources(sources, Path(copies), progress)
        tables = copy_views(tables, Path(copies), progress.say)
        facts = CatalogFacts().declaring(read_database_keys(tables, progress.warn))
        starts = session if need_spark(tables, profile) else lambda: None
        comparison = compare_values(
            read_profiles(tables, starts, profile, progress),
            session=starts,
            profile=profile,
            model=model,
            progress=progress,
            facts=facts,
        )
    return comparison, facts
