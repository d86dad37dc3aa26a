"""Test that lists of countries and cities in older encodings are read correctly."""

import gettext
import io
from collections.abc import Iterator
from pathlib import Path

import pycountry
import pytest
from babel import Locale

from datahub_hyperjoin.spark.files.encoding import TextStream, detect_encoding
from datahub_hyperjoin.spark.files.stored import DecompressedFile

ENCODINGS = [
    *(("cp1252", language) for language in ("de", "fr", "es", "pt", "sv")),
    ("iso8859-15", "fr"),
    *(("cp1250", language) for language in ("pl", "cs", "hu", "ro")),
    *(("iso8859-2", language) for language in ("pl", "cs", "hr")),
    *(("cp1251", language) for language in ("ru", "bg", "uk", "sr")),
    *(("koi8-r", "ru"), ("koi8-u", "uk"), ("iso8859-5", "ru"), ("cp866", "ru")),
    *(("cp1253", "el"), ("iso8859-7", "el"), ("cp1254", "tr"), ("iso8859-9", "tr")),
    *(("cp1255", "he"), ("iso8859-8", "he"), ("cp1256", "ar"), ("iso8859-6", "ar")),
    *(("cp1257", "lt"), ("cp1257", "lv"), ("cp874", "th"), ("cp850", "de"), ("mac-roman", "fr")),
    *(("shift_jis", "ja"), ("euc_jp", "ja"), ("gb18030", "zh"), ("big5", "zh_Hant")),
    ("euc_kr", "ko"),
]
SYMBOLS = [
    "21 °C",
    "Acme®",
    "don\u2019t",
    "a – b",
    "£12",
    "5 × 4",
    "½ cup",
    "10 µg",
    "naïve",
    "Müller",
]


def lists_of(encoding: str, language: str) -> Iterator[bytes]:
    """Yield encoded CSV files: lists of countries from up to two sources, and a list of cities."""
    locale = Locale.parse(language)
    territories = sorted(locale.territories.items())
    yield _file([name for code, name in territories if len(code) == 2], encoding)
    zones = sorted(locale.time_zones.items())
    yield _file([zone["city"] for _, zone in zones if "city" in zone], encoding)
    if gettext.find("iso3166-1", pycountry.LOCALES_DIR, [language]):
        names = gettext.translation("iso3166-1", pycountry.LOCALES_DIR, [language])
        yield _file(sorted(names.gettext(each.name) for each in pycountry.countries), encoding)


def _file(names: list[str], encoding: str) -> bytes:
    # An older encoding lacks some letters of other languages.
    fitting = [name for name in names if name == name.encode(encoding, "ignore").decode(encoding)]
    lines = [f"{number},{name},{number * 31}\n" for number, name in enumerate(fitting)]
    return "".join(["id,name,amount\n", *lines]).encode(encoding)


def read(content: bytes, path: Path) -> str:
    path.write_bytes(content)
    with TextStream(DecompressedFile(path)) as stream:
        return io.BufferedReader(stream).read().decode().rstrip("\n") + "\n"


@pytest.mark.parametrize(("encoding", "language"), ENCODINGS)
def test_lists_of_names_are_read_right(encoding: str, language: str, tmp_path: Path) -> None:
    for content in lists_of(encoding, language):
        assert read(content, tmp_path / "names.csv") == content.decode(encoding)


@pytest.mark.parametrize("count", [1, 2, 4, 7, 10])
def test_symbols_of_windows_1252_are_no_letters(count: int) -> None:
    text = "".join(f"{at},{SYMBOLS[at % count]}\n" for at in range(60))
    content = text.encode("cp1252")
    assert content.decode(detect_encoding(content)) == text


def test_few_names_far_into_a_block_suffice() -> None:
    head = "".join(f"{at},London\n" for at in range(50_000))
    names = "1,Москва\n2,Санкт-Петербург\n3,Новосибирск\n"
    assert detect_encoding((head + names).encode("koi8-r")) == "koi8-r"


def test_damaged_utf_8_stays_utf_8(tmp_path: Path) -> None:
    text = "Genève,Orléans,Besançon,Liège\n" * 20
    content = text.encode().replace(b"\n", b"\xff\n", 1)
    assert read(content, tmp_path / "names.csv") == text.replace("\n", "\ufffd\n", 1)


def test_the_note_names_the_encoding_as_the_recipe_does(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_bytes(next(lists_of("cp1251", "ru")) * 9 + b"1,\x98\n")
    with TextStream(DecompressedFile(path)) as stream:
        assert stream.notes == [
            "not UTF-8: read as cp1251",
            "bytes that are not cp1251 were replaced by \ufffd",
        ]
