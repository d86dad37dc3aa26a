"""Test that stored profiles and evidence are used if, and only if, they are still valid."""

import logging
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import SecretStr

from datahub_hyperjoin.arrow_bytes import PackedTexts
from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.locations import Database, File, Relation
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.stages.profiling import open_store
from datahub_hyperjoin.storage import replacing_with_checksum
from datahub_hyperjoin.tables import ColumnId, Table, TableProfile

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
SAID = Evidence(
    shared=2,
    left_containment=1.0,
    right_containment=0.25,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=1 / 3,
    right_fan_out=1.0,
    rows=2,
    compared_as="countries",
)


@pytest.fixture
def config(tmp_path: Path) -> ProfileConfig:
    return ProfileConfig(store=tmp_path / "kept" / "here")


@pytest.fixture
def cities(make_table: MakeTable) -> Table:
    return replace(make_table("cities.csv", "id,city\n1,Oslo\n2,Rome\n,Bari\n"), state="first")


def profiled(table: Table) -> TableProfile:
    return profile_table(table, ProfileConfig(), Databases())


def test_columns_of_the_same_name_share_it(config: ProfileConfig, cities: Table) -> None:
    other = replace(cities, id=replace(cities.id, name="others"), state="other")
    Store(config).keep_profiles([profiled(cities), profiled(other)])
    one, two = Store(config).profiles([cities, other]).values()
    names = [[id(column.id.path) for column in each.columns] for each in (one, two)]
    assert names[0] == names[1]


def test_stored_samples_are_packed(config: ProfileConfig, cities: Table) -> None:
    Store(config).keep_profiles([profiled(cities)])
    [found] = Store(config).profiles([cities]).values()
    assert isinstance(found.columns[1].sample, PackedTexts)
    assert {*found.columns[1].sample} == {"Oslo", "Rome", "Bari"}


def test_a_profile_is_kept_unchanged(config: ProfileConfig, cities: Table) -> None:
    found = profiled(cities)
    Store(config).keep_profiles([found])
    assert Store(config).profiles([cities]) == {cities.id: found}


def test_the_profile_of_a_changed_table_is_not_used(config: ProfileConfig, cities: Table) -> None:
    Store(config).keep_profiles([profiled(cities)])
    for other in (
        replace(cities, state="second"),
        replace(cities, state=""),
        replace(cities, id=replace(cities.id, env="DEV")),
        replace(cities, location=File(uri="elsewhere.csv", format="csv")),
    ):
        assert Store(config).profiles([other]) == {}
    for setting in (replace(config, max_rows=2), replace(config, sample_size=2)):
        assert Store(setting).profiles([cities]) == {}
    assert Store(replace(config, force=True)).profiles([cities]) == {}
    assert Store(config).profiles([cities]) != {}


def test_a_table_of_unknown_state_is_never_kept(config: ProfileConfig, cities: Table) -> None:
    nameless = replace(cities, state="")
    Store(config).keep_profiles([profiled(nameless)])
    assert Store(config).profiles([nameless]) == {}


def test_another_password_does_not_change_the_table(config: ProfileConfig, cities: Table) -> None:
    def of(url: str, password: str | None = None) -> Table:
        secret = SecretStr(password) if password else None
        database = Database(url=SecretStr(url), password=secret)
        location = Relation(
            database=database, connection="connections[0]", schema="main", name="cities"
        )
        return replace(cities, location=location)

    known = of("postgresql+psycopg2://me:hush@db/shop")
    Store(config).keep_profiles([replace(profiled(cities), table=known)])
    for same in (of("postgresql+psycopg2://me@db/shop", one) for one in (None, "hush", "other")):
        assert same.id in Store(config).profiles([same])
    assert Store(config).profiles([replace(known, state="second")]) == {}


def test_an_unreadable_table_is_tried_again(config: ProfileConfig, cities: Table) -> None:
    Store(config).keep_profiles([TableProfile(table=cities, fault="cannot be read")])
    assert Store(config).profiles([cities]) == {}


def test_only_the_last_run_is_kept(config: ProfileConfig, cities: Table) -> None:
    Store(config).keep_profiles([profiled(cities)])
    Store(config).keep_profiles([])
    assert Store(config).profiles([cities]) == {}


def test_evidence_is_kept_while_both_tables_are_unchanged(
    config: ProfileConfig, cities: Table
) -> None:
    lands = replace(cities, id=replace(cities.id, name="lands"))
    pair = ColumnId(cities.id, "city"), ColumnId(lands.id, "city")
    kinds = {pair: "countries"}
    Store(config).keep_evidence({pair: SAID}, [cities, lands], kinds)
    kept = Store(config)
    assert kept.evidence([pair], [cities, lands], kinds) == {pair: SAID}
    assert kept.evidence([pair], [cities, replace(lands, state="second")], kinds) == {}
    assert kept.evidence([pair], [cities], kinds) == {}
    assert kept.evidence([pair], [cities, lands], {}) == {}
    back = pair[1], pair[0]
    assert kept.evidence([back], [cities, lands], {back: "countries"}) == {}
    # The limits of profiling do not matter: evidence is computed on all rows.
    other = Store(replace(config, max_rows=2))
    assert other.evidence([pair], [cities, lands], kinds) == {pair: SAID}
    again = Store(replace(config, force=True))
    assert again.evidence([pair], [cities, lands], kinds) == {}


def test_without_a_folder_nothing_is_kept(cities: Table) -> None:
    store = Store(ProfileConfig())
    store.keep_profiles([profiled(cities)])
    assert store.profiles([cities]) == {}


def no_parquet(file: Path) -> None:
    with replacing_with_checksum(file) as unfinished:
        unfinished.write_text("no Parquet")


def other_columns(file: Path) -> None:
    with replacing_with_checksum(file) as unfinished:
        pq.write_table(pa.table({"key": ["a"], "rows": [1]}), unfinished)


def of_the_user(file: Path) -> None:
    pq.write_table(pa.table({"key": ["a"], "rows": [1]}), file)


def emptied(file: Path) -> None:
    file.touch()


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (no_parquet, "Parquet magic bytes"),
        (other_columns, "another version of this package wrote it"),
        (of_the_user, "was not written by this version of the package. Move or delete it"),
        (emptied, "is damaged: its checksum does not match its content"),
    ],
)
def test_an_unusable_store_is_reported_and_ignored(
    config: ProfileConfig,
    cities: Table,
    caplog: pytest.LogCaptureFixture,
    write: Callable[[Path], None],
    reason: str,
) -> None:
    assert config.store
    config.store.mkdir(parents=True)
    write(config.store / "profiles.parquet")
    with caplog.at_level(logging.WARNING):
        assert Store(config).profiles([cities]) == {}
    assert "Ignoring the stored file" in caplog.text
    assert "profiles.parquet, and reading again: " in caplog.text
    assert reason in caplog.text
    caplog.clear()
    taken = replace(config, store=config.store / "profiles.parquet")
    Store(taken).keep_profiles([profiled(cities)])
    assert "Cannot store results for the next run in" in caplog.text


def test_a_damaged_store_is_a_warning_of_the_run(config: ProfileConfig, cities: Table) -> None:
    assert config.store
    file = config.store / "profiles.parquet"
    Store(config).keep_profiles([profiled(cities)])
    file.write_bytes(file.read_bytes()[:-1])
    report = HyperJoinReport()
    assert open_store(config, report).profiles([cities]) == {}
    [warning] = report.warnings
    assert warning.title == "Stored results not read"
    assert warning.message == "What they hold is made anew from the data, so this run takes longer"
    assert next(iter(warning.context)).startswith(f"{file}: '{file}' ")


def test_a_file_of_the_user_is_never_replaced(
    config: ProfileConfig, cities: Table, caplog: pytest.LogCaptureFixture
) -> None:
    assert config.store
    config.store.mkdir(parents=True)
    file = config.store / "profiles.parquet"
    of_the_user(file)
    before = file.read_bytes()
    Store(config).keep_profiles([profiled(cities)])
    assert "Cannot store results for the next run" in caplog.text
    assert "profiles.parquet' was not written by this version of the package" in caplog.text
    assert file.read_bytes() == before


def damage(content: bytes, random: Random) -> bytes:
    """Damage a file: change a bit, delete a part, repeat a part or cut off the end."""
    start, stop = sorted(random.sample(range(len(content)), 2))
    changed = bytes([content[start] ^ 1 << random.randrange(8)])
    return random.choice(
        [
            content[:start] + changed + content[start + 1 :],
            content[:start] + content[stop:],
            content[:stop] + content[start:],
            content[:start],
        ]
    )


def test_a_damaged_store_never_reads_as_something_else(
    config: ProfileConfig, cities: Table, caplog: pytest.LogCaptureFixture
) -> None:
    assert config.store
    Store(config).keep_profiles([profiled(cities)])
    file = config.store / "profiles.parquet"
    whole, random = file.read_bytes(), Random(0)  # noqa: S311 - repeatable damage
    for _ in range(300):
        file.write_bytes(damage(whole, random))
        caplog.clear()
        assert Store(config).profiles([cities]) == {}
        assert "Ignoring the stored file" in caplog.text


KEEPING = """
import pickle, sys
from pathlib import Path
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.profiles.store import Store

profile = pickle.loads(Path(sys.argv[2]).read_bytes())
for _ in range(60):
    Store(ProfileConfig(store=Path(sys.argv[1]))).keep_profiles([profile])
"""


def test_two_runs_at_once_leave_a_store_that_can_be_read(
    config: ProfileConfig, cities: Table, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    profile = profiled(cities)
    tmp_path.joinpath("profile").write_bytes(pickle.dumps(profile))
    command = [sys.executable, "-c", KEEPING, str(config.store), str(tmp_path / "profile")]
    Store(config).keep_profiles([profile])
    with ExitStack() as stack:
        runs = [
            stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
            for _ in range(2)
        ]
        while any(run.poll() is None for run in runs):
            assert Store(config).profiles([cities]) == {cities.id: profile}
            time.sleep(0.01)  # leaves the processor to them
        assert [run.stderr.read() for run in runs if run.stderr] == ["", ""]
    assert caplog.text == ""


def test_the_store_has_two_files(config: ProfileConfig, cities: Table) -> None:
    assert config.store
    Store(config).keep_profiles([profiled(cities)])
    Store(config).keep_evidence({}, [cities], {})
    assert sorted(path.name for path in config.store.iterdir()) == [
        "evidence.parquet",
        "profiles.parquet",
    ]


def test_a_profile_with_another_hash_is_not_used(config: ProfileConfig, cities: Table) -> None:
    by_md5 = Md5ProfileConfig.of(config)
    Store(config).keep_profiles([profiled(cities)])
    assert Store(by_md5).profiles([cities]) == {}
    Store(by_md5).keep_profiles([profile_table(cities, by_md5, Databases())])
    assert Store(config).profiles([cities]) == {}
    [found] = Store(by_md5).profiles([cities]).values()
    assert found.columns[0].sketch != profiled(cities).columns[0].sketch
