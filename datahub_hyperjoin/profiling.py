"""Profile the tables of a run, and drop columns that are not in the catalog."""

from collections.abc import Sequence
from dataclasses import replace

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.personal import hide_personal_columns
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import Table, TableProfile
from datahub_hyperjoin.wording import name_some


def read_profiles(
    tables: Sequence[Table], session: Session, config: ProfileConfig, progress: Progress
) -> tuple[TableProfile, ...]:
    """Profile each table, or reuse its stored profile if the table has not changed.

    Args:
        tables: The tables.
        session: Starts the Spark session; not called if there is nothing to read.
        config: How much of each table to read, and where profiles are stored.
        progress: Receives counts and warnings.

    Returns:
        One profile per table, in the same order, including unreadable tables.
    """
    store = _store_of_profiles(config)
    stored = {
        id_: hide_personal_columns(profile, config)
        for id_, profile in store.profiles(tables).items()
    }
    changed = [table for table in tables if table.id not in stored]
    read = profile_lake(session(), changed, config, store.result_folder) if changed else []
    by_table = stored | {profile.table.id: profile for profile in read}
    profiles = tuple(by_table[table.id] for table in tables)
    store.keep_profiles(profiles)
    progress.count("tables_from_profile_store", len(stored))
    _report_personal_columns(profiles, progress)
    _report_profiles(profiles, progress)
    return profiles


def _store_of_profiles(config: ProfileConfig) -> Store:
    if config.keep_values:
        return Store(config)
    Store(config).discard_profiles()  # those of a run that kept values
    return Store(replace(config, store=None))


def _report_profiles(profiles: Sequence[TableProfile], progress: Progress) -> None:
    """Count tables and columns, and warn about tables that were skipped or only partly read.

    The table's name is in the context, since DataHub's report groups warnings by title and message.
    """
    for profile in profiles:
        name = str(profile.table.id)
        if profile.fault:
            progress.count("tables_skipped", 1)
            progress.warn(
                "Table skipped",
                "It gets no suggestions. All other tables do",
                f"{name}: {profile.fault}, or exclude it with `{profile.table.chosen_by}`",
            )
            continue
        progress.count("tables_profiled", 1)
        progress.count("columns_profiled", len(profile.columns))
        for note in profile.notes:
            progress.warn(
                "Table partly read",
                "Its suggestions are based on the part that could be read",
                f"{name}: {note}",
            )


def _report_personal_columns(profiles: Sequence[TableProfile], progress: Progress) -> None:
    found = [
        f"{column.id} ({column.personal})"
        for profile in profiles
        for column in profile.columns
        if column.personal
    ]
    if found:
        progress.count("personal_columns", len(found))
        progress.say(f"Personal columns, whose samples are hashes: {name_some(found)}")


def drop_unknown_columns(
    profiles: Sequence[TableProfile], facts: CatalogFacts, progress: Progress
) -> tuple[TableProfile, ...]:
    """Drop columns that are not in the catalog, because joins on them cannot be published.

    Args:
        profiles: The tables as they were read.
        facts: The columns that the catalog has of each table.
        progress: Receives a warning for each table that loses columns.

    Returns:
        The tables with the columns that are left; tables that the catalog lacks stay whole.
    """
    kept = []
    for profile in profiles:
        names = facts.columns.get(profile.table.id)
        if names is None:
            kept.append(profile)
            continue
        columns = tuple(column for column in profile.columns if column.id.path in names)
        kept.append(replace(profile, columns=columns))
        unknown = [column.id.path for column in profile.columns if column.id.path not in names]
        if unknown:
            progress.warn(
                "Column not in the catalog",
                "It gets no suggestions. Ingest its table again to add it",
                f"{profile.table.id}: {name_some(unknown)}",
            )
    return tuple(kept)
