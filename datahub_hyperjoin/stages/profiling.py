"""Profile the tables of a run.

Columns that are not in the catalog are dropped.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.names import match_spellings
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.personal import hide_personal_columns
from datahub_hyperjoin.spark.files.header import ROW_NAME, ROWS_NAMED
from datahub_hyperjoin.spark.profiles.known_contents import KnownContents
from datahub_hyperjoin.spark.profiles.local_batch import profile_here
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.profiles.store import LostTables, Store
from datahub_hyperjoin.spark.profiles.value_hash import with_value_hash
from datahub_hyperjoin.spark.routes import are_short_texts, session_for
from datahub_hyperjoin.spark.session import OptionalSession
from datahub_hyperjoin.spark.verification.values import prune_value_files
from datahub_hyperjoin.tables import Table, TableProfile
from datahub_hyperjoin.wording import name_some


def read_profiles(
    tables: Sequence[Table], session: OptionalSession, config: ProfileConfig, progress: Progress
) -> tuple[TableProfile, ...]:
    """Profile each table, or reuse the stored profile of an unchanged table."""
    config = with_value_hash(config, tables)
    results, store = open_store(config, progress), _store_of_profiles(config, progress)
    contents, lost = KnownContents(results), LostTables(results)
    tables = contents.recognise(tables)
    stored = {
        id_: hide_personal_columns(profile, config)
        for id_, profile in store.profiles(tables).items()
    }
    # What ended its worker has no profile, and would end it again.
    known = stored | lost.known(table for table in tables if table.id not in stored)
    changed = [table for table in tables if table.id not in known]
    if stored and are_short_texts(changed):
        read = profile_here(changed, config)
    else:
        reader = session_for(changed, session, config)
        read = profile_lake(reader, changed, config, store.result_folder)
    by_table = known | {profile.table.id: profile for profile in read}
    profiles = tuple(replace(by_table[table.id], value_hash=config.value_hash) for table in tables)
    store.keep_profiles(profiles)
    contents.keep(profiles)
    prune_value_files(config, tables)
    lost.keep(profiles)
    progress.count("tables_from_profile_store", len(stored))
    progress.count("tables_written_again", contents.written_again)
    _report_columns(profiles, progress)
    _report_profiles(profiles, progress)
    return profiles


def open_store(config: ProfileConfig, progress: Progress) -> Store:
    """Open the store that keeps results for later runs."""

    def warn(path: Path, reason: str) -> None:
        progress.warn(
            "Stored results not read",
            "What they hold is made anew from the data, so this run takes longer",
            f"{path}: {reason}",
        )

    return Store(config, warn)


def _store_of_profiles(config: ProfileConfig, progress: Progress) -> Store:
    store = open_store(config, progress)
    if config.keep_values:
        return store
    store.discard_profiles()  # those of a run that kept values
    return Store(replace(config, store=None))


def _report_profiles(profiles: Sequence[TableProfile], progress: Progress) -> None:
    """Count tables and columns, and warn about unreadable tables."""
    # The name is in the context, since DataHub's report groups warnings by title and message.
    for profile in profiles:
        name = str(profile.table.id)
        if profile.fault:
            progress.count("tables_skipped", 1)
            chosen_by = profile.table.chosen_by
            remedy = f", or exclude it with `{chosen_by}`" if chosen_by else ""
            progress.warn(
                "Table skipped",
                "If DataHub or a header names its columns, it gets suggestions by names, which are "
                "not verified on data. All other tables are read",
                f"{name}: {profile.fault}{remedy}",
            )
            continue
        progress.count("tables_profiled", 1)
        progress.count("columns_profiled", len(profile.columns))
        unread = (note for note in profile.notes if not note.endswith(ROWS_NAMED))
        for note in unread:
            progress.warn(
                "Table partly read, or read by an assumption",
                "Its suggestions are based on what was read",
                f"{name}: {note}",
            )


def _report_columns(profiles: Sequence[TableProfile], progress: Progress) -> None:
    """Count and list personal columns, and unnamed first columns that were given a name."""
    columns = [column for profile in profiles for column in profile.columns]
    personal = [f"{each.id} ({each.personal})" for each in columns if each.personal]
    named = [
        str(profile.table.id)
        for profile in profiles
        if any(note.endswith(ROWS_NAMED) for note in profile.notes)
    ]
    for counter, found, words in (
        ("personal_columns", personal, "Personal columns, whose samples are hashes"),
        ("columns_called_row_name", named, f"First columns without a name, called {ROW_NAME}"),
    ):
        if found:
            progress.count(counter, len(found))
            progress.say(f"{words}: {name_some(found)}")


def drop_unknown_columns(
    profiles: Sequence[TableProfile], facts: CatalogFacts, progress: Progress
) -> tuple[TableProfile, ...]:
    """Drop columns that the catalog does not have."""
    # Their joins cannot be published. The catalog may spell columns in another case.
    kept = []
    for profile in profiles:
        names = facts.columns.get(profile.table.id)
        # A table that the catalog does not know may have any columns.
        if names is None:
            kept.append(profile)
            continue
        paths = [column.id.path for column in profile.columns]
        spelled = match_spellings(paths, names, str.casefold)
        columns = tuple(column for column in profile.columns if column.id.path in spelled.matched)
        kept.append(replace(profile, columns=columns))
        unknown = [
            f"{path} (may be {name_some(sorted(spelled.unclear[path]))})"
            if path in spelled.unclear
            else path
            for path in paths
            if path not in spelled.matched
        ]
        if unknown:
            progress.warn(
                "Column not in the catalog",
                "It gets no suggestions. Ingest its table again to add it",
                f"{profile.table.id}: {name_some(unknown)}",
            )
    return tuple(kept)
