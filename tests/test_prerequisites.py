"""Test the script that installs missing programs, on simulated machines."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".ci" / "prerequisites"

APT = """\
echo "$@" >> "$CALLS"
case "$*" in
*--simulate*) [ "$3" = "$HAS" ] ;;
install*) cp "$SHOP"/* "$BIN" ;;
esac
"""


def write_script(path: Path, script: str = "") -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def java(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2026-01-20' >&2"


@dataclass
class Machine:
    """A simulated machine, which has only the commands in one folder."""

    bin: Path

    @property
    def calls(self) -> Path:
        return self.bin.parent / "calls"

    def add(self, command: str, script: str = "") -> None:
        write_script(self.bin / command, script)

    def add_java(self, version: str) -> None:
        self.add("java", java(version))

    def add_apt(self, *, user: int = 0, has: str = "openjdk-17-jre-headless") -> None:
        shop = self.bin.parent / "shop"
        shop.mkdir()
        write_script(shop / "g++")
        write_script(shop / "java", java("17.0.15"))
        self.add("apt-get", f"CALLS={self.calls} SHOP={shop} BIN={self.bin} HAS={has}\n{APT}")
        self.add("id", f"echo {user}")

    def run(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run the script, by default with what a machine needs that compiles."""
        settings = {"PATH": str(self.bin), "PYTHON": sys.executable}
        return subprocess.run(
            [SCRIPT, *(arguments or ["compiler"])],
            env=settings | environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine that has Python and basic commands, but no Java, compiler or apt."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for command in ("cp", "env", "sed", "sh"):
        (folder / command).symlink_to(os.fspath(shutil.which(command) or command))
    return Machine(folder)


@pytest.mark.parametrize("version", ["17.0.15", "17-ea", "21", "25.0.1"])
def test_a_complete_machine_is_not_changed(machine: Machine, version: str) -> None:
    machine.add("g++")
    machine.add_java(version)
    machine.add_apt()
    run = machine.run()
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert not machine.calls.exists()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_an_old_java_counts_as_missing(machine: Machine, version: str) -> None:
    machine.add("g++")
    machine.add_java(version)
    run = machine.run()
    assert run.returncode == 1
    assert run.stderr == "Please install Java 17 or newer, then run make again.\n"


def test_without_apt_one_sentence_names_the_missing_programs(machine: Machine) -> None:
    run = machine.run()
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr == (
        "Please install a C++ compiler (g++) and Java 17 or newer, then run make again.\n"
    )


def test_python_without_venv_and_headers_is_reported(machine: Machine) -> None:
    machine.add("g++")
    machine.add_java("17.0.15")
    machine.add(
        "python3",
        'case "$2" in *ensurepip*|*Python.h*) exit 1 ;; *print*) echo python3.11 ;; esac',
    )
    run = machine.run(PYTHON="python3")
    assert run.returncode == 1
    assert run.stderr == "Please install python3.11-venv and python3.11-dev, then run make again.\n"


def test_root_installs_missing_programs_through_apt(machine: Machine) -> None:
    machine.add_apt()
    run = machine.run()
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "Installing a C++ compiler (g++) and Java 17 or newer through apt.\n"
    assert machine.calls.read_text().splitlines() == [
        "update -qq",
        "install --simulate openjdk-17-jre-headless",
        "install -qq -y --no-install-recommends g++ openjdk-17-jre-headless",
    ]


def test_only_missing_programs_are_installed(machine: Machine) -> None:
    machine.add_java("21.0.2")
    machine.add_apt()
    assert machine.run().returncode == 0
    assert machine.calls.read_text().endswith("--no-install-recommends g++\n")


@pytest.mark.parametrize(
    ("has", "installed"),
    [("openjdk-21-jre-headless", "openjdk-21-jre-headless"), ("none", "default-jre-headless")],
)
def test_a_system_without_java_17_gets_a_newer_one(
    machine: Machine, has: str, installed: str
) -> None:
    machine.add_apt(has=has)
    assert machine.run().returncode == 0
    assert machine.calls.read_text().endswith(f" {installed}\n")


def test_a_user_with_passwordless_sudo_installs(machine: Machine) -> None:
    machine.add_apt(user=1000)
    machine.add("sudo", 'shift; [ "$1" = true ] || "$@"')
    assert machine.run().returncode == 0
    assert "install -qq" in machine.calls.read_text()


def test_without_passwordless_sudo_a_sentence_names_the_missing_programs(
    machine: Machine,
) -> None:
    machine.add_apt(user=1000)
    machine.add("sudo", "echo a password is required >&2; exit 1")
    run = machine.run()
    assert run.returncode == 1
    assert run.stderr.startswith("Please install a C++ compiler (g++) and Java 17 or newer")
    assert not machine.calls.exists()


def test_a_failed_installation_ends_in_the_same_sentence(machine: Machine) -> None:
    machine.add("apt-get", "exit 100")
    machine.add("id", "echo 0")
    run = machine.run()
    assert run.returncode == 1
    assert run.stderr == (
        "Please install a C++ compiler (g++) and Java 17 or newer, then run make again.\n"
    )


def test_who_compiles_nothing_needs_neither_compiler_nor_headers(machine: Machine) -> None:
    run = machine.run("")
    assert run.stderr == "Please install Java 17 or newer, then run make again.\n"
    machine.add_java("17.0.15")
    machine.add("python3", 'case "$2" in *Python.h*) exit 1 ;; *print*) echo python3.11 ;; esac')
    assert machine.run("", PYTHON="python3").returncode == 0
    assert "python3.11-dev" in machine.run(PYTHON="python3").stderr


def test_the_quick_start_compiles_nothing_and_the_environment_of_tests_does() -> None:
    rules = SCRIPT.parent.parent.joinpath("Makefile").read_text().splitlines()
    needs = {rule.partition(":")[0]: rule.rpartition("| ")[2] for rule in rules if "| " in rule}
    assert needs["$(VENV)/.quickstart"] == "prerequisites"
    assert needs["$(VENV)/.dev"] == "compiler"


def test_an_old_python_is_refused(machine: Machine) -> None:
    machine.add("python3.8", "exit 1")
    run = machine.run(PYTHON="python3.8")
    assert run.returncode == 1
    assert run.stderr.startswith("Please install Python 3.10 or newer")


def test_an_unusable_java_home_is_named(machine: Machine) -> None:
    machine.add_java("17.0.15")
    run = machine.run(JAVA_HOME="/opt/java8")
    assert run.returncode == 1
    assert run.stderr.startswith("JAVA_HOME is /opt/java8, which has no Java 17 or newer")


def test_cxx_may_name_another_compiler(machine: Machine) -> None:
    machine.add_java("17.0.15")
    machine.add("clang++")
    assert machine.run(CXX="clang++").returncode == 0
