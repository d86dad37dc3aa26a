import pytest

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
