"""Test `hyperjoin check`, run as users run it, on faulty recipes and on good recipes."""

import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from datahub.configuration.config_loader import load_config_file
from datahub.ingestion.run.pipeline import Pipeline, PipelineInitError

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.spark.errors import MissingJavaError
from gms import Gms
from lakes.lake import describe

ANN = "urn:li:corpuser:ann"
PASSWORD = "Qh7nWz"  # noqa: S105 - not in use anywhere
"""A secret that no output may contain."""


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder with one table, and make its parent the current folder."""
    folder = tmp_path / "lake"
    folder.mkdir()
    folder.joinpath("towns.csv").write_text("id,name\n1,Oslo\n2,Rome\n")
    monkeypatch.chdir(tmp_path)
    for name in ("DATAHUB_GMS_URL", "DATAHUB_GMS_TOKEN", "NOBODY_SETS_THIS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    return folder


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms(people={"ann's": ANN}) as server:
        yield server


def recipe(catalog: dict[str, Any] | None = None, **config: object) -> dict[str, Any]:
    settings = {"catalog": catalog or {"folder": "lake"}, **config}
    return {
        "source": {"type": "hyperjoin", "config": settings},
        "sink": {"type": "file", "config": {"filename": "joins.json"}},
    }


def rest(server: str, **config: object) -> dict[str, Any]:
    return {"type": "datahub-rest", "config": {"server": server, **config}}


def check(written: dict[str, Any] | str, name: str = "recipe.yml") -> tuple[int, list[str]]:
    """Check a recipe, and return the exit status and the lines of the output."""
    text = written if isinstance(written, str) else yaml.safe_dump(written)
    Path(name).write_text(text)
    before = sorted(Path().rglob("*"))
    result = CliRunner().invoke(main, ["check", name])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    assert PASSWORD not in result.output
    assert sorted(Path().rglob("*")) == before
    return result.exit_code, result.output.splitlines()


def problems(written: dict[str, Any] | str, name: str = "recipe.yml") -> list[str]:
    status, [title, *listed] = check(written, name)
    noun = "problem" if len(listed) == 1 else "problems"
    assert (status, title) == (1, f"{name} has {len(listed)} {noun}:")
    assert all(line.startswith("- ") for line in listed)
    return [line.removeprefix("- ") for line in listed]


def test_a_good_recipe_says_what_it_reads_and_writes() -> None:
    assert check({"pipeline_name": "joins", **recipe(page="joins.html")}) == (
        0,
        [
            "recipe.yml can run.",
            "It reads 1 table of the folder lake.",
            "It writes joins to the file joins.json as pipeline `joins` and the page joins.html.",
        ],
    )


def test_the_server_and_the_owner_of_the_token_are_named(
    gms: Gms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_TOKEN", "ann's")
    describe(gms, "towns.csv", ["id", "name"])
    status, lines = check({**recipe(), "sink": rest(gms.url, token="${DATAHUB_TOKEN}")})  # noqa: S106
    assert (status, lines[1:]) == (
        0,
        [
            f"It reads 1 table of the folder lake and the catalog of {gms.url} as {ANN}.",
            f"It writes joins to DataHub at {gms.url}.",
        ],
    )
    assert not gms.writes


def test_without_a_sink_the_server_of_the_command_datahub_is_checked(
    gms: Gms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "ann's")
    describe(gms, "towns.csv", ["id", "name"])
    without = {"source": recipe()["source"]}
    assert check(without)[1][2] == f"It writes joins to DataHub at {gms.url}."
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", PASSWORD)
    [refused] = problems(without)
    assert refused.startswith("`gms.token`: DataHub refuses the token: 401 ")


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        (PASSWORD, "`sink.config.token`: DataHub refuses the token: 401 "),
        (None, "`sink.config.token` is missing, and DataHub requires a token: 401 "),
    ],
    ids=["wrong", "none"],
)
def test_a_token_that_the_server_does_not_know_is_refused(
    gms: Gms, token: str | None, sentence: str
) -> None:
    [fault] = problems({**recipe(), "sink": rest(gms.url, token=token)})
    assert fault.startswith(sentence)


def silent_port() -> int:
    """Return a local port on which no program listens."""
    with closing(socket.socket()) as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


def test_a_wrong_server_is_noticed_at_once_and_all_else_is_checked() -> None:
    sink = rest(f"http://me:{PASSWORD}@127.0.0.1:{silent_port()}")
    start = time.monotonic()
    faults = problems({**recipe({"folder": "lakes"}), "sink": sink})
    assert time.monotonic() - start < 6
    assert [fault.partition(":")[0] for fault in faults] == [
        "`sink.config.server`",
        "`catalog.folder` is 'lakes', and no such folder exists. Correct the path",
    ]


def test_a_server_that_never_answers_is_given_up_after_seconds() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        start = time.monotonic()
        [fault] = problems({**recipe(), "datahub_api": {"server": url}})
        assert 2 < time.monotonic() - start < 6
    assert fault.startswith("`datahub_api.server`: DataHub cannot be reached: ")


def test_a_database_that_nobody_serves_is_named_without_its_password() -> None:
    port = silent_port()
    url = f"postgresql://me:${{SHOP_PASSWORD}}@127.0.0.1:{port}/shop"
    [fault] = problems(recipe(connections=[{"database": {"url": url}}]))
    assert fault == (
        f"`connections[0].database.url`: nothing answers at 127.0.0.1:{port}. Start the database, "
        "or correct host and port"
    )


def test_tables_of_a_database_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        connection.execute("CREATE TABLE items (id INTEGER)")
    shop = recipe(connections=[{"database": {"url": f"sqlite:///{tmp_path}/shop.db"}}])
    _, lines = check(shop)
    assert lines[1] == "It reads 1 table of the folder lake and 2 tables of `connections[0]`."
    # SQLite does not tell how large its tables are, so a run would start Spark.
    monkeypatch.setattr("datahub_hyperjoin.recipe_check.check.find_java", _find_no_java)
    assert "Spark needs Java 17 or newer" in problems(shop)[0]
    assert check(recipe())[0] == 0


def _find_no_java() -> None:
    raise MissingJavaError.nowhere()


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("source:\n  type: hyperjoin\n   x: 1\n", "recipe.yml, line 3: the file cannot be parsed"),
        (f"source:\n  type: *{PASSWORD}\n", "recipe.yml, line 2: the file cannot be parsed"),
        (f"source: !{PASSWORD} x\n", "recipe.yml, line 1: the file cannot be parsed"),
        ("", "recipe.yml has no sections. Begin it with the section `source`"),
        (PASSWORD, "recipe.yml has no sections"),
        (f"- {PASSWORD}\n", "recipe.yml has no sections"),
        ("source: \x07\n", "recipe.yml has characters that no recipe may have"),
        (f"sink: {{type: file, config: {PASSWORD}}}\n", "`source` is missing. Add it"),
    ],
    ids=["indent", "alias", "tag", "empty", "text", "list", "bell", "no source"],
)
def test_a_file_that_is_no_recipe_is_explained_by_its_line(text: str, start: str) -> None:
    assert problems(text)[0].startswith(start)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("source:\n  type: ]\n", "2: the file cannot be parsed from here on (expected a value, "),
        ("source: 'don't'\n", "(expected the end of the section, but found a text)"),
        ("source: [a\nsink: b\n", "(expected ',' or ']', but got ':')"),
        ("source:\n\ttype: x\n", "(found character tab that cannot start any token)"),
        (f"source: *{PASSWORD}\n", "(found undefined alias)"),
        (f"source: !{PASSWORD} x\n", "(could not determine a constructor for the tag)"),
    ],
)
def test_what_yaml_expects_is_told_without_quoting_the_recipe(text: str, reason: str) -> None:
    [problem] = problems(text)
    assert reason in problem
    assert PASSWORD not in problem


def test_recipes_in_json_and_toml_are_read_like_datahub_reads_them() -> None:
    assert problems('{"source": \n {"type" 1}}', "recipe.json")[0].startswith("recipe.json, line 2")
    assert problems('[source]\ntype = "x', "recipe.toml")[0].startswith("recipe.toml, line 2")
    assert problems("source:\n", "recipe.txt")[0].startswith("recipe.txt cannot be read: Only ")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("${NOBODY_SETS_THIS}", "variable NOBODY_SETS_THIS is not set. Set it before the run"),
        ("a${NOBODY_SETS_THIS}b", "variable NOBODY_SETS_THIS is not set. Set it before the run"),
        ("${NO_A}/${NO_B}", "variables NO_A, NO_B are not set. Set them before the run"),
        ("${NO_A:?first}", "variable NO_A is not set. Set it before the run"),
        ("x${Ab}c${:", "its variable cannot be read. Write `${NAME}`, or `${NAME:-default}`"),
        (f"${PASSWORD}", "and no such variable is set, so that DataHub would use the text itself"),
    ],
    ids=["alone", "inside", "two", "required", "open", "bare"],
)
def test_an_unset_variable_is_named_with_its_key(text: str, names: str) -> None:
    [fault] = problems(recipe({"folder": text}))
    assert fault.startswith("`source.config.catalog.folder`: ")
    assert names in fault


def test_a_server_whose_address_is_not_known_is_a_server() -> None:
    sink = rest("${NOBODY_SETS_THIS}")
    named = {"pipeline_name": "joins", **recipe({"described": True}), "sink": sink}
    named["source"]["config"]["stateful_ingestion"] = {"enabled": True}
    [fault] = problems(named)
    assert fault.startswith("`sink.config.server`: the environment variable NOBODY_SETS_THIS is")


def test_faults_of_a_value_whose_variable_is_not_set_are_not_listed() -> None:
    ranking = {"top_k": "${NOBODY_SETS_THIS}"}
    faults = problems(recipe({"foler": "lake"}, model={"ranking": ranking}))
    assert [fault.split("`")[1] for fault in faults] == [
        "source.config.model.ranking.top_k",
        "source.config",
    ]
    assert "Did you mean `catalog.folder`?" in faults[1]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"pipline_name": "x"}, "`pipline_name` is not a key. Did you mean `pipeline_name`?"),
        (
            {"source": {"type": "hyperjon", "config": {"catalog": {"folder": "lake"}}}},
            "`source.type`: DataHub has no source 'hyperjon'. Did you mean `hyperjoin`?",
        ),
        (
            {"source": {"type": "zzz", "config": {"catalog": {"folder": "lake"}}}},
            "`source.type`: DataHub has no source 'zzz'. Write `hyperjoin`",
        ),
        (
            {"sink": {"type": "datahub_rest", "config": {"server": "x"}}},
            "`sink.type`: DataHub has no sink 'datahub_rest'. Did you mean `datahub-rest`?",
        ),
        (
            {"sink": {"type": "file", "config": {"file": "x"}}},
            "`sink.config`: `filename` is missing. Add it",
        ),
        (
            {"sink": {"type": "file", "config": {"filename": "lake"}}},
            "`sink.config.filename` is 'lake': it is a folder. Name another file",
        ),
        (
            {"source": {"type": "hyperjoin"}},
            "`source.config` is missing. Add it, with `catalog.folder` or `connections` below it",
        ),
    ],
    ids=["frame", "source", "far source", "sink", "sink key", "sink file", "no settings"],
)
def test_a_fault_around_the_settings_is_one_sentence(change: dict[str, Any], fault: str) -> None:
    assert fault in problems({**recipe(), **change})


def test_a_key_that_datahub_ignores_is_named(gms: Gms) -> None:
    sink = rest(gms.url, tokn="ann's")
    assert problems({**recipe(), "sink": sink})[0] == (
        "`sink.config.tokn` is not a key, and DataHub ignores it. Did you mean `sink.config.token`?"
    )


def test_a_recipe_of_another_source_is_not_checked() -> None:
    [fault] = problems({**recipe(), "source": {"type": "file", "config": {"path": "x"}}})
    assert fault.startswith("`source.type` is file, which this command cannot check.")


def test_a_plain_secret_and_state_without_a_server_are_problems(tmp_path: Path) -> None:
    database = {"url": f"sqlite:///{tmp_path}/none.db", "password": PASSWORD}
    faults = problems(
        recipe(connections=[{"database": database}], stateful_ingestion={"enabled": True})
    )
    assert faults[0].startswith("the recipe holds a secret as plain text in `connections[0].datab")
    assert faults[1].startswith("`stateful_ingestion` keeps its state under the name of the pipel")


def test_files_that_are_not_read_are_listed(lake: Path) -> None:
    lake.joinpath("notes.docx").write_text("x")
    status, lines = check(recipe())
    assert (status, lines[0]) == (0, "Files not read: .docx: 1 file, for example notes.docx")


def test_damaged_decisions_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "decisions.csv"
    file.write_text("left_table,left_column,right_table,right_column,decision\na,x,b\n")
    status, lines = check(recipe(decisions=str(file)))
    assert (status, lines[0].partition(" cells")[0]) == (
        0,
        f"Decision not read: {file}: line 2 has 3",
    )


def refuses(name: str) -> bool:
    """Return whether DataHub refuses to create the pipeline of a recipe."""
    try:
        Pipeline.create(load_config_file(name), dry_run=True, report_to=None)
    except PipelineInitError:
        return True
    return False


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"folder": "lakes"},
        {"folder": "lake/towns.csv"},
        {"folder": "lake", "tags": ["pii"]},
        {"described": True},
        {"folder": "lake", "dialect": {"x": 1}},
        {"folder": "lake", "tables": {"allow": ["towns"]}},
    ],
    ids=str,
)
def test_what_datahub_refuses_is_a_problem_and_nothing_else(config: dict[str, Any]) -> None:
    status, lines = check(recipe(config))
    assert bool(status) == refuses("recipe.yml"), lines
