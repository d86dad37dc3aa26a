from datahub_hyperjoin.spark.errors import UnreadableTableError


def test_a_library_that_quotes_a_whole_file_is_cut_short() -> None:
    message = str(UnreadableTableError.because("bad log " + "x" * 20_000))
    assert message.startswith("cannot be read: bad log xxx")
    assert message.endswith("x. Fix the file")
    assert len(message) < 1_100
