"""The memory and the stack of this process."""

from __future__ import annotations

import inspect
import resource
import sys
from pathlib import Path
from unittest import mock

import pytest

from fencepost.checker import resources
from fencepost.checker.resources import STACK_WORDS, memory_bytes, roomy


def test_file_caches_of_a_container_count_as_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("50000000\n")
    (tmp_path / "memory.current").write_text("49000000\n")
    (tmp_path / "memory.stat").write_text(
        "anon 9000000\nactive_file 30000000\ninactive_file 9000000\n"
    )
    assert memory_bytes() == 40_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_bytes() > 40_000_000


def test_a_roomy_function_behaves_the_same() -> None:
    def divided(number: int, *, by: int = 1) -> float:
        """Divides."""
        frame = inspect.currentframe()
        assert frame is not None
        assert frame.f_back is not None
        assert frame.f_back.f_code.co_stacksize == STACK_WORDS
        return number / by

    wide = roomy(divided)
    assert (wide(6, by=4), wide(6)) == (1.5, 6)
    assert (wide.__name__, wide.__doc__) == ("divided", "Divides.")
    assert inspect.signature(wide) == inspect.signature(divided)
    with pytest.raises(ZeroDivisionError):
        wide(1, by=0)


def test_calls_nest_as_deep_in_a_roomy_function() -> None:
    def nested(depth: int) -> int:
        return 0 if depth == 0 else 1 + nested(depth - 1)

    assert roomy(nested)(500) == 500


GB = 1 << 30


@pytest.mark.parametrize(
    ("limits", "group", "available", "expected"),
    [
        ({}, None, GB, "the memory of this machine"),
        ({"RLIMIT_AS": GB}, None, 9 * GB, "the address space that this process may use"),
        ({"RLIMIT_AS": GB}, None, 9 * GB, "(ulimit -v 1048576)"),
        ({"RLIMIT_DATA": GB}, None, 9 * GB, "the data that this process may have (ulimit -d 1"),
        ({"RLIMIT_AS": 99 * GB}, None, GB, "the memory of this machine"),
        ({}, GB, 9 * GB, "the memory of this container"),
        ({"RLIMIT_AS": GB // 4}, GB, 9 * GB, "ulimit -v"),
    ],
)
def test_the_bound_on_memory(
    limits: dict[str, int], group: int | None, available: int, expected: str
) -> None:
    def limit(number: int) -> tuple[int, int]:
        names = [name for name in limits if getattr(resource, name) == number]
        return (limits[names[0]] if names else resource.RLIM_INFINITY, 0)

    spare = sys.maxsize if group is None else group
    with (
        mock.patch.object(resource, "getrlimit", limit),
        mock.patch.object(resources, "memory_bytes", return_value=min(available, spare)),
        mock.patch.object(resources, "_spare_in_group", return_value=spare),
        mock.patch.object(resources, "_status", return_value=0),
    ):
        assert expected in resources.memory_bound()


@pytest.mark.parametrize(
    ("count", "used", "waited", "free"),
    [
        (8, 0, 0, 8),
        (8, 10**7, 10**7, 8),
        (8, 10**9, 10**7, 8),
        (8, 10**9, 3 * 10**9, 2),
        (8, 10**9, 10**12, 1),
        (2, 9 * 10**8, 10**8, 2),
        (2, 4 * 10**8, 6 * 10**8, 1),
    ],
)
def test_free_processors(
    count: int, used: int, waited: int, free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "processors", lambda: count)
    monkeypatch.setattr(resources, "_used_and_waited", lambda: (used, waited))
    assert resources.free_processors() == free
