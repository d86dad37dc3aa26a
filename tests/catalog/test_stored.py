"""Test which tables of an object store are listed, and the warning if the store denies access."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs
import pytest
from pydantic import ValidationError

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.errors import NoRemoteTablesError, UnreachableStoreError
from datahub_hyperjoin.catalog.folders import scan_stored_folder
from datahub_hyperjoin.locations import ObjectStore, RemoteFolder
from datahub_hyperjoin.tables import Table
from services.stores import SECRET, S3Server, running_s3

FILES = (
    "a/codes.csv.gz",
    "a/.hidden.csv",
    "b [1]/orders/year=2023/part-0.parquet",
    "b [1]/orders/year=2024/part-0.parquet",
    "c/sales/part-0.parquet",
    "c/sales/_delta_log/0.json",
    "c/trips/data/0.parquet",
    "c/trips/metadata/v1.metadata.json",
    "_draft.csv",
    "notes.docx",
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with running_s3(monkeypatch) as server:
        yield server


def scan(folder: str, warnings: list[tuple[str, str]] | None = None, **config: str) -> list[Table]:
    connection = ConnectionConfig.model_validate({"folder": folder, **config})
    source = connection.source
    assert isinstance(source, RemoteFolder)
    assert source.store
    told: list[tuple[str, str]] = [] if warnings is None else warnings
    return scan_stored_folder(
        "connections[0]",
        source.uri,
        source.store,
        connection.selection,
        warn=lambda title, _, context: told.append((title, context)),
    )


def test_tables_are_recognised_and_named_like_those_of_datahub(
    server: S3Server, tmp_path: Path
) -> None:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345678")
    (tmp_path / "empty.csv").touch()
    warnings: list[tuple[str, str]] = []
    codes, orders = scan(server.upload(tmp_path), warnings)
    assert (codes.id.platform, codes.id.name) == ("s3", "lake/shop/a/codes.csv.gz")
    assert (orders.id.name, orders.size) == ("lake/shop/b [1]/orders", 16)
    assert all(table.state for table in (codes, orders))
    assert warnings == [
        (
            "Delta and Iceberg tables not read",
            "lake/shop/c/sales, lake/shop/c/trips",
        ),
        ("Files not read", ".docx: 1 file, for example notes.docx"),
    ]


def test_a_changed_file_has_another_state(server: S3Server, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    [before] = scan(server.upload(tmp_path))
    [same] = scan("s3://lake/shop")
    (tmp_path / "a.csv").write_text("id\n1\n2\n")
    [after] = scan(server.upload(tmp_path))
    assert before.state == same.state != after.state


def test_a_folder_without_tables_is_an_error(server: S3Server, tmp_path: Path) -> None:
    (tmp_path / "notes.docx").write_text("x")
    with pytest.raises(NoRemoteTablesError, match="has 1 file, and none holds a table"):
        scan(server.upload(tmp_path))


@pytest.mark.parametrize(
    ("folder", "advice"),
    [
        ("s3://missing/shop", "the bucket does not exist. Correct its name, or `endpoint`"),
        ("s3://lake/missing", "the folder does not exist. Correct its path"),
        ("s3://locked/shop", "the store refuses access. Give the credentials"),
        ("s3://far/shop", "the bucket is in another region, or .*Set `region`"),
    ],
)
def test_an_error_says_what_to_do_and_no_secret(server: S3Server, folder: str, advice: str) -> None:
    del server
    with pytest.raises(UnreachableStoreError, match=rf"`connections\[0\]`: {advice}") as raised:
        scan(folder)
    assert SECRET not in str(raised.value)


def test_a_store_that_does_not_answer_is_an_error(server: S3Server) -> None:
    del server
    with pytest.raises(UnreachableStoreError, match=r"does not answer\. .*AWS_ENDPOINT"):
        scan("s3://lake/shop", endpoint="http://127.0.0.1:9")


def test_amazon_is_asked_for_the_region_where_none_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)

    def refuse(bucket: str) -> str:
        message = f"When resolving region for bucket '{bucket}': AWS Error: bucket not found"
        raise OSError(message)

    monkeypatch.setattr(pyarrow.fs, "resolve_s3_region", refuse)
    with pytest.raises(UnreachableStoreError, match="the bucket does not exist"):
        scan("s3://unknown-bucket/shop")


def source_of(**config: str) -> RemoteFolder:
    source = ConnectionConfig.model_validate(config).source
    assert isinstance(source, RemoteFolder)
    return source


def test_arrow_reads_s3_and_what_else_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    assert source_of(folder="s3://lake").store == ObjectStore(endpoint="http://minio:9000")
    assert source_of(folder="s3://lake", region="eu-west-1", endpoint="https://s3.eu").store == (
        ObjectStore(endpoint="https://s3.eu", region="eu-west-1")
    )
    assert source_of(folder="gs://lake", reader="arrow").store
    assert source_of(folder="abfss://lake@shop.dfs.core.windows.net/a", reader="arrow").store
    for folder in ("s3a://lake", "gs://lake", "abfss://lake@shop.dfs.core.windows.net/a"):
        assert source_of(folder=folder).store is None
    assert source_of(folder="s3://lake", reader="spark").store is None


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"folder": "s3a://lake", "reader": "arrow"}, "`reader: arrow` does not read s3a://"),
        ({"folder": f"s3://AKID:{SECRET}@lake"}, "contains credentials. Give them in the env"),
        ({"folder": f"abfss://a:{SECRET}@b/c", "reader": "arrow"}, "contains credentials"),
        ({"folder": "s3:///shop"}, "names no bucket"),
        ({"folder": "gs://lake", "region": "eu"}, "need a `folder` as in s3://lake/sales"),
        ({"spark_catalog": "spark_catalog", "reader": "arrow"}, "belong to a `folder`"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    config: dict[str, str], reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason) as raised:
        ConnectionConfig.model_validate(config)
    assert SECRET not in str(raised.value)
