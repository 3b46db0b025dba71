"""Reading a spec with many modules terminates, and no work is done twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from tests.support.shipped import MODELS, a_few

from fencepost.spec.elaborate.base.files import read_files
from fencepost.spec.elaborate.claims import modules, program
from fencepost.spec.text.clock import TimeUp, limited
from fencepost.spec.text.problem import Rejected

DEEP = 40
"""Work that doubles this many times would not terminate."""


def chain(folder: Path, line: Callable[[int], str], deep: int = DEEP) -> Path:
    """Writes modules ``m0`` to ``m<deep>``; ``line(d)`` is the text of ``m<d>``."""
    for number in range(deep + 1):
        state = "" if number else "var root: bool = true\naction go: root = not root\n"
        (folder / f"m{number}.fence").write_text(f"{line(number)}\n{state}", encoding="utf-8")
    return folder / "m0.fence"


def plain(d: int) -> str:
    return f"import m{d + 1} as a\nimport m{d + 1} as b" if d < DEEP else "const C: int = 1"


def numbers(d: int) -> str:
    argument = "N" if d else "1"
    head = "param const N: int\n" if d else ""
    if d == DEEP:
        return head
    return (
        f"{head}import m{d + 1} as a with N = {argument}\nimport m{d + 1} as b with N = {argument}"
    )


def sums(d: int) -> str:
    return numbers(d).replace("with N = N", "with N = N + 1 - 1 * 1")


def types(d: int) -> str:
    return numbers(d).replace("param const N: int", "param type N").replace("N = 1", "N = bool")


def constants(d: int) -> str:
    head = f"const C: int = {'N + 0' if d else '7'}\n"
    return numbers(d).replace("N = N", "N = C").replace("N = 1", "N = C") + "\n" + head


def channels(d: int) -> str:
    if d == 0:
        head = "enum M: Ask\nchannel net: M capacity 1 or block\ntype T = M\n"
        return f"{head}import m1 as a with T = T, net = net\nimport m1 as b with T = T, net = net"
    head = "param type T\nparam channel net: T\n"
    if d == DEEP:
        return head
    following = f"import m{d + 1} as"
    return f"{head}{following} a with T = T, net = net\n{following} b with T = T, net = net"


@pytest.mark.parametrize("line", [plain, numbers, sums, types, constants, channels])
def test_imports_that_fan_out_are_linear(tmp_path: Path, line: Callable[[int], str]) -> None:
    loaded = program.load(chain(tmp_path, line))
    with mock.patch.object(modules.Modules, "_gathered", autospec=True) as gathered:
        gathered.side_effect = GATHERED
        program.build(loaded, None)
    assert gathered.call_count <= 4 * DEEP


GATHERED = modules.Modules._gathered  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("first", "second"),
    [("N + N", "N + N + 1"), ("if N > 0 then N else N", "N // 1")],
)
def test_ever_new_modules_are_refused(tmp_path: Path, first: str, second: str) -> None:
    def line(d: int) -> str:
        head = "param const N: int\n" if d else ""
        if d == DEEP:
            return head
        left, right = (first, second) if d else ("1", "2")
        return f"{head}import m{d + 1} as a with N = {left}\nimport m{d + 1} as b with N = {right}"

    loaded = program.load(chain(tmp_path, line))
    with mock.patch.object(modules, "MAX_ARGUMENTS", 200), pytest.raises(Rejected) as raised:
        program.build(loaded, None)
    assert {problem.code for problem in raised.value.problems} <= {"F609", "F711"}


def test_equal_arguments_in_other_words_are_one_module(tmp_path: Path) -> None:
    def line(d: int) -> str:
        if d:
            return "param const N: int\nparam type T\nvar x: 0..9 = N\naction go: x = N"
        # Plain arguments, and arguments computed in the module.
        return (
            "const K: int = 3\ntype B = bool\nimport m1 as a with N = 3, T = B\n"
            "import m1 as b with N = 4 - 1, T = bool\nimport m1 as c with N = K, T = B\n"
            "import m1 as d with N = if true then 3 else 4, T = B\n"
            "import m1 as e with N = 4, T = B\n"
            "invariant I: a.x == b.x and b.x == c.x and c.x == d.x and e.x == 4"
        )

    model = program.build(program.load(chain(tmp_path, line, 1)), None)
    assert len(model.variables) == 3


def test_reading_and_checking_can_be_stopped(tmp_path: Path) -> None:
    path = chain(tmp_path, numbers)
    with limited(0), pytest.raises(TimeUp):
        program.load(path)
    loaded = program.load(path)
    with limited(0), pytest.raises(TimeUp):
        program.build(loaded, None)
    with limited(1000):
        program.build(loaded, None)
    with limited(0), limited(None):
        program.build(loaded, None)


@pytest.mark.parametrize(
    "path", [m for m in MODELS if m.stem in ("txn_core_v2", "txn_init", "paxos")]
)
def test_a_check_is_built_alike_alone_and_after_others(path: Path) -> None:
    files = read_files(path, ())
    together, _ = program.scanned(path, files)
    for check in a_few(path, together.checks, 3):
        alone, _ = program.scanned(path, files)
        assert program.build(together, check) == program.build(alone, check)
