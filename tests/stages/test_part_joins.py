"""Joins by parts of cells, found in small lakes, with their SQL run on the data."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.decision_file import WrittenDecision
from datahub_hyperjoin.discovery.records import JoinRecord
from datahub_hyperjoin.joins import Verdict

TAGS = [f"tag{number:03}" for number in range(60)]
SPARSE, DENSE = [*range(3, 600, 4)], [*range(1, 151)]
LISTS = [[TAGS[(7 * post + at) % 60] for at in range(1 + post % 4)] for post in range(120)]
STATES = [(country, state) for country in ("US", "CA", "DE") for state in ("RW", "AH", "QP", "ON")]
PEOPLE = [
    (first, last) for first in ("Ulla", "Rosa", "Kaito") for last in ("Berg", "Egger", "Hahn")
]

Frames = Mapping[str, Mapping[str, Sequence[object]]]


def posts(write: Callable[[list[str]], str]) -> Frames:
    return {
        "posts": {"post": range(120), "labels": [write(tags) for tags in LISTS]},
        "tags": {"tag": TAGS, "weight": [at * 7 % 13 for at in range(60)]},
    }


def hits(start: str) -> Frames:
    return {
        "hits": {"hit": range(120), "page": [f"{start}{TAGS[at * 7 % 60]}" for at in range(120)]},
        "items": {"sku": TAGS, "weight": [at * 7 % 13 for at in range(60)]},
    }


def orders(
    prefix: str, ids: Sequence[int], *, column: str = "customer", table: str = "customers"
) -> Frames:
    referred = [ids[at * 11 % len(ids)] for at in range(300)]
    return {
        "orders": {
            "amount": [at * 37 % 101 for at in range(300)],
            column: [f"{prefix}{each:05}" for each in referred],
        },
        table: {"id": ids, "score": [at * 5 % 17 for at in range(len(ids))]},
    }


def found(folder: Path, frames: Frames) -> list[JoinRecord]:
    for name, columns in frames.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    return find_joins(folder).records()


def rows_of(record: JoinRecord) -> int:
    """Count the rows that a statement returns without its limit."""
    query = record["sql"].rpartition("LIMIT")[0]
    return len(duckdb.execute(query).fetchall())


@pytest.mark.parametrize(
    ("frames", "words", "rows"),
    [
        (posts(";".join), "each element of posts.csv.labels, split at ;", 300),
        (posts(", ".join), "each element of posts.csv.labels, split at ,", 300),
        (posts("|".join), "each element of posts.csv.labels, split at |", 300),
        (
            posts(lambda tags: str(tags).replace("'", '"')),
            "each element of posts.csv.labels, split at ,",
            300,
        ),
        *(
            (posts(mark.join), f"each element of posts.csv.labels, split at {name}", 300)
            for mark, name in ((" ", "spaces"), ("+", "+"), (":", ":"))
        ),
        (posts(lambda tags: str((*tags,))), "each element of posts.csv.labels, split at ,", 300),
        (
            posts(lambda tags: f"[{' '.join(map(repr, tags))}]"),
            "each element of posts.csv.labels, split at spaces",
            300,
        ),
        (
            hits("https://shop.example/p/"),
            "the texts of hits.csv.page behind https://shop.example/p/",
            120,
        ),
        (hits("product:"), "the texts of hits.csv.page behind product:", 120),
        (orders("CUST-", SPARSE), "the numbers of orders.csv.customer behind cust-", 300),
        (orders("CUST-", DENSE), "the numbers of orders.csv.customer behind cust-", 300),
        (
            orders("https://shop.example/customers/", DENSE, column="link"),
            "the numbers of orders.csv.link behind https://shop.example/customers/",
            300,
        ),
        (
            orders("urn:x:", SPARSE, column="ref", table="things"),
            "the numbers of orders.csv.ref behind urn:x:",
            300,
        ),
    ],
)
def test_parts_of_cells_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frames: Frames, words: str, rows: int
) -> None:
    monkeypatch.chdir(tmp_path)
    [record] = found(tmp_path, frames)
    assert (record["role"], record["compared_as"], record["rows"]) == ("reference", words, rows)
    assert record["joinability"] <= 0.75
    assert rows_of(record) == rows


@pytest.mark.parametrize(
    ("mark", "parts", "paths"),
    [
        ("-", STATES, ["country", "state"]),
        (" - ", STATES, ["country", "state"]),
        ("::", STATES, ["country", "state"]),
        ("~", STATES, ["country", "state"]),
        (" ", PEOPLE, ["first_name", "last_name"]),
        (", ", PEOPLE, ["last_name", "first_name"]),
    ],
)
def test_a_cell_holds_several_columns(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mark: str,
    parts: list[tuple[str, str]],
    paths: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = [mark.join(parts[at * 5 % len(parts)]) for at in range(100)]
    columns = dict(zip(paths, zip(*parts, strict=True), strict=True))
    [record] = found(tmp_path, {"offices": {"place": whole}, "places": columns})
    assert (record["left_column"], record["right_column"]) == (
        '["place", "place"]',
        f'["{paths[0]}", "{paths[1]}"]',
    )
    assert record["rows"] == rows_of(record) == 100


def test_some_numbers_may_be_without_their_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frames = orders("CUST-", SPARSE)
    mixed = [
        str(int(str(each)[-5:])) if at % 3 else each
        for at, each in enumerate(frames["orders"]["customer"])
    ]
    frames = {**frames, "orders": {**frames["orders"], "customer": mixed}}
    [record] = found(tmp_path, frames)
    assert (record["rows"], record["rows_as_written"]) == (300, 200)
    assert rows_of(record) == 300


def test_few_cells_may_hold_several_elements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frames = posts(";".join)
    labels = [
        cell if at % 5 == 1 else cell[:6]
        for at, cell in enumerate(map(str, frames["posts"]["labels"]))
    ]
    frames = {**frames, "posts": {**frames["posts"], "labels": labels}}
    [record] = found(tmp_path, frames)
    assert record["rows"] == rows_of(record) == sum(len(str(each).split(";")) for each in labels)


def test_prefixed_keys_named_like_a_table_are_referred_to(tmp_path: Path) -> None:
    frames = orders("", SPARSE, column="customer_id")
    keys = [f"C{each:05}" for each in SPARSE]
    numbers = [int(str(each)) for each in frames["orders"]["customer_id"]]
    frames = {
        "orders": {**frames["orders"], "customer_id": numbers},
        "customers": {**frames["customers"], "id": keys},
    }
    [record] = found(tmp_path, frames)
    assert (record["cardinality"], record["rows"]) == ("many-to-one", 300)


@pytest.mark.parametrize(
    "write",
    [
        lambda at: f"{at % 12 + 1}:{at * 7 % 60:02}",
        lambda at: f"{at % 28 + 1}/{at % 12 + 1}/2023",
        lambda at: f"10.{at % 4}.{at * 7 % 90}.{at * 11 % 90}",
        lambda at: f"{at % 40} + {at % 7}",
        lambda at: f"({at % 70}, {at * 3 % 70})",
        lambda at: f"/rooms/{at % 90}/beds/{at % 4}",
        lambda at: f"the {at % 9} cats of {at % 30} friends",
        lambda at: f"Greeting {at % 150 + 1}",
    ],
)
def test_numbers_in_other_texts_join_no_counter(
    tmp_path: Path, write: Callable[[int], str]
) -> None:
    texts = [write(at) for at in range(300)]
    assert found(tmp_path, {"notes": {"text": texts}, "sensors": {"id": DENSE}}) == []


def test_prefixed_counters_join_no_counter(tmp_path: Path) -> None:
    frames = orders("INV-", DENSE, column="invoice", table="sensors")
    assert found(tmp_path, frames) == []


def test_lists_of_small_numbers_join_no_counter(tmp_path: Path) -> None:
    lists = [";".join(str(1 + (at + step) % 40) for step in range(3)) for at in range(90)]
    assert found(tmp_path, {"votes": {"picks": lists}, "sensors": {"id": DENSE}}) == []


@pytest.mark.parametrize(
    "cells",
    [
        [f"{at % 9 + 1}/{at * 3 % 28 + 1}/2013" for at in range(120)],
        [";".join(map(str, range(1, at % 30 + 2))) for at in range(120)],
    ],
)
def test_days_and_numbers_without_gaps_are_no_lists_of_texts(
    tmp_path: Path, cells: Sequence[str]
) -> None:
    # Some tags are small numbers, as of trees without a tag.
    tags = [*map(str, range(1, 32)), "2013", *(f"A-{at * 37}" for at in range(200))]
    frames: Frames = {
        "notes": {"note": cells, "weight": [at * 7 % 13 for at in range(120)]},
        "trees": {"tag": tags, "girth": [at * 5 % 17 for at in range(len(tags))]},
    }
    assert not [join for join in found(tmp_path, frames) if "notes" in str(join["left"])]


def test_prefixed_keys_are_referred_to(tmp_path: Path) -> None:
    referred = [DENSE[at * 11 % 150] for at in range(400)]
    frames = {
        "orders": {"customer": referred, "amount": [at * 37 % 101 for at in range(400)]},
        "customers": {"code": [f"CUST-{each:05}" for each in DENSE]},
    }
    [record] = found(tmp_path, frames)
    assert (record["cardinality"], record["rows"]) == ("many-to-one", 400)
    assert record["compared_as"] == "the numbers of customers.csv.code behind cust-"


@pytest.mark.parametrize(
    ("own", "its", "width"),
    [("C", "CUST-", 1), ("customer:", "cust_", 5), ("https://shop.example/customers/", "C-", 3)],
)
def test_numbers_behind_different_prefixes_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, its: str, width: int
) -> None:
    monkeypatch.chdir(tmp_path)
    frames = orders(own, DENSE, column="customer_code")
    keys = [f"{its}{each:0{width}}" for each in DENSE]
    [record] = found(tmp_path, {**frames, "customers": {**frames["customers"], "id": keys}})
    assert (record["role"], record["cardinality"]) == ("reference", "many-to-one")
    assert record["compared_as"] == (
        "orders.csv.customer_code and the other column by their numbers behind "
        f"{own.lower()} and {its.lower()}"
    )
    assert record["rows"] == rows_of(record) == 300


@pytest.mark.parametrize(
    ("own", "its", "table"),
    [("C", "CON-", "contracts"), ("K-", "INV-", "customers"), ("INV-", "I", "sensors")],
)
def test_numbers_behind_prefixes_of_other_things_do_not_join(
    tmp_path: Path, own: str, its: str, table: str
) -> None:
    frames = orders(own, DENSE, table=table)
    keys = [f"{its}{each:05}" for each in DENSE]
    assert found(tmp_path, {**frames, table: {**frames[table], "id": keys}}) == []


def test_numbered_names_are_no_keys(tmp_path: Path) -> None:
    referred = [DENSE[at * 11 % 150] for at in range(400)]
    frames = {
        "bookings": {"member": referred, "amount": [at * 37 % 101 for at in range(400)]},
        "members": {"member_name": [f"Person {each}" for each in DENSE]},
    }
    assert found(tmp_path, frames) == []


def test_a_word_in_each_cell_is_no_element_of_lists(tmp_path: Path) -> None:
    frames: Frames = {
        "airlines": {"carrier": TAGS, "name": [f"{tag} Airways" for tag in TAGS]},
        "delays": {"carrier": TAGS[::2], "minutes": [at * 11 % 97 for at in range(30)]},
    }
    [record] = found(tmp_path, frames)
    assert record["left_column"] == record["right_column"] == "carrier"


PHOTOS, POSTS = [*range(1, 61)], [*range(1, 91)]


def comments(
    types: Sequence[str], *, kind: str = "commentable_type", ids: str = "commentable_id"
) -> Frames:
    """Return comments on posts, photos and, in every tenth row, on something without a table."""
    photo, post, other = types
    owners = [
        (other, at * 13 % 400)
        if at % 10 == 0
        else (post, POSTS[at * 7 % 90])
        if at % 3
        else (photo, PHOTOS[at * 11 % 60])
        for at in range(300)
    ]
    return {
        "comments": {
            "id": range(1, 301),
            kind: [owner for owner, _ in owners],
            ids: [number for _, number in owners],
            "stars": [at * 37 % 5 for at in range(300)],
        },
        "photos": {"id": PHOTOS, "width": [at * 7 % 19 * 40 for at in range(60)]},
        "posts": {"id": POSTS, "length": [at * 11 % 23 * 30 for at in range(90)]},
    }


@pytest.mark.parametrize(
    ("types", "names"),
    [
        (("Photo", "Post", "Album"), ("commentable_type", "commentable_id")),
        (("photos", "posts", "albums"), ("entity", "entity_id")),
        (
            ("App\\Models\\Photo", "App\\Models\\Post", "App\\Models\\Album"),
            ("owner_type", "owner"),
        ),
        (("Blog::Photo", "Blog::Post", "Blog::Album"), ("content_type", "object_id")),
        (("photo", "post", "album"), ("sourceKind", "sourceKey")),
        (("shop.photos", "shop.posts", "shop.albums"), ("ref_table", "ref_id")),
    ],
)
def test_ids_of_a_type_refer_to_its_table(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    types: tuple[str, str, str],
    names: tuple[str, str],
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, ids = names
    frames = comments(types, kind=kind, ids=ids)
    records = found(tmp_path, frames)
    written = Counter(map(str, frames["comments"][kind]))
    for record, table, of_type in zip(records, ("photos", "posts"), types, strict=False):
        assert (record["left_column"], record["right_column"]) == (
            f'["{ids}", "{kind}"]',
            '["id", "id"]',
        )
        assert (record["right_table"], record["role"]) == (f"{table}.csv", "reference")
        assert record["compared_as"] == f"comments.csv.{ids} in rows of type {of_type}"
        assert record["rows"] == rows_of(record) == written[of_type]
    assert len(records) == 2
    # Nobody is told a type that names no table.
    assert types[-1] not in str(records)


@pytest.mark.parametrize(
    ("kind", "ids"),
    [("status_type", "commentable_id"), ("commentable_type", "stars_of_reader")],
)
def test_a_type_completes_no_other_ids(tmp_path: Path, kind: str, ids: str) -> None:
    records = found(tmp_path, comments(("Photo", "Post", "Album"), kind=kind, ids=ids))
    assert not any(record["compared_as"] for record in records)


def test_people_decide_about_ids_with_and_without_their_type() -> None:
    lake = {
        name: pd.DataFrame(columns)
        for name, columns in comments(("Photo", "Post", "Album")).items()
    }
    result = find_joins(lake, sql=False)
    of_photos, of_posts = result.joins
    result.reject(of_photos)
    assert find_joins(lake, sql=False, decisions=result.decisions).joins == (of_posts,)
    without_type = WrittenDecision(
        left_table="comments",
        left_columns=("commentable_id",),
        right_table="posts",
        right_columns=("id",),
        verdict=Verdict.ACCEPTED,
    )
    [join] = find_joins(lake, sql=False, decisions=[*result.decisions, without_type]).joins
    assert (join.further, join.referenced, join.catalog.verdict) == (
        (),
        of_posts.referenced,
        Verdict.ACCEPTED,
    )
