"""Test that a limit on the address space that is too low ends a run with a sentence at once."""

import resource
import subprocess
import sys

import pytest

from datahub_hyperjoin.errors import AddressSpaceError
from datahub_hyperjoin.spark import require_address_space

TOO_LOW = r"`ulimit -v` is \d+, and the libraries of a run reserve more, most of which they never "


def below(limit: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command under a limit in kibibytes."""
    return subprocess.run(
        ["bash", "-c", f'ulimit -v {limit}; exec "$@"', "bash", sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("limit", [400_000, 1_000_000, 2_000_000])
def test_a_command_says_that_its_limit_is_too_low(limit: int) -> None:
    done = below(limit, "-m", "datahub_hyperjoin.cli", "find", ".")
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"Error: `ulimit -v` is {limit}, and the libraries of a run reserve")
    assert line.endswith(" or to `unlimited`")


def test_a_program_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, resource.RLIM_INFINITY))
    with pytest.raises(AddressSpaceError, match=TOO_LOW):
        require_address_space()
    done = below(1_000_000, "-c", "from datahub_hyperjoin import find_joins")
    assert done.returncode == 1
    assert "AddressSpaceError: `ulimit -v` is 1000000" in done.stderr


def test_more_cores_need_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (4 << 30, resource.RLIM_INFINITY))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    require_address_space()
    monkeypatch.setattr("os.cpu_count", lambda: 128)
    with pytest.raises(AddressSpaceError, match="at least 5242880 or to `unlimited`"):
        require_address_space()


def test_without_a_limit_nothing_is_refused() -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    require_address_space()
