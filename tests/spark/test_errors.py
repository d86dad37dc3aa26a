import pytest

from datahub_hyperjoin.spark.databases.system import system_named
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError, UnreadableTableError


def test_a_library_that_quotes_a_whole_file_is_cut_short() -> None:
    message = str(UnreadableTableError.because("bad log " + "x" * 20_000))
    assert message.startswith("cannot be read: bad log xxx")
    assert message.endswith("x. Fix the file")
    assert len(message) < 1_100


@pytest.mark.parametrize(
    ("driver", "package"),
    [("psycopg2", "'datahub-hyperjoin[postgres]'"), ("oracledb", "oracledb")],
)
def test_a_missing_driver_is_installed_without_a_compiler(driver: str, package: str) -> None:
    message = str(UnreachableDatabaseError.without_driver("connections[0]", driver))
    assert (
        f"its driver {driver} is not installed. Install it with `pip install {package}`" in message
    )


@pytest.mark.parametrize(
    ("scheme", "fix"),
    [
        ("redshift+psycopg2", "Install it with `pip install 'datahub-hyperjoin[redshift]'`"),
        ("trino", "Install it with `pip install 'datahub-hyperjoin[trino]'`"),
        ("cobol", "Install the package that has it, or correct the `url`"),
    ],
)
def test_a_missing_dialect_names_the_extra_that_has_it(scheme: str, fix: str) -> None:
    extra = system_named(scheme.partition("+")[0]).extra
    message = str(UnreachableDatabaseError.without_dialect("connections[0]", scheme, extra))
    assert f"no SQLAlchemy dialect for `{scheme}` is installed. {fix}" in message
