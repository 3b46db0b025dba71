"""On an incomplete machine, a command with a missing dependency reports it in one sentence, and
other commands work.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.obstacles import Machine, run_there
from tests.support.paths import ROOT
from tests.support.processes import finished

from fencepost.checker.engines import ENGINES, EXTRAS

SPEC = """\
const N: 1..9 = 3

var x: 0..9 = 0

fair action up:
    require x < N
    x += 1

invariant Small: x < 3
property Ends: eventually x == N
terminal: x == N

check small:
    expect violated Small

check held:
    const N = 2
    expect ok
"""

PLAIN = {
    "--help": (0, "explore"),
    "check s.fence --engine interpreter": (0, "2 checks, all as expected"),
    "check s.fence --engine interpreter --jobs 2": (0, "2 checks, all as expected"),
    "fmt s.fence --check": (0, "already in the standard layout"),
    "info s.fence": (0, "variables"),
    "graph s.fence --const N=2": (0, "digraph"),
    "eval s.fence x": (0, "0"),
    "export s.fence --to tla --output out": (0, "written out/s_small.tla"),
    "simulate --help": (0, "random runs"),
    "doctor": (None, "engine interpreter  works"),
}
"""Commands that work on every machine, with their exit code, or None for any code, and a part of
their output.
"""

NO_LLVM = (
    'error[F030]: the engine "local" cannot run here (llvmlite is not installed: pip install'
    " 'fencepost[local]'); \"--engine interpreter\" runs anywhere\n"
)
NO_Z3 = NO_LLVM.replace("llvmlite", "z3").replace("[local]", "[symbolic]")
WINDOWS = Machine(
    modules=("fcntl", "resource", "readline", "termios", "tty", "pwd", "grp"),
    attributes=(
        "os.sysconf", "os.fork", "os.getuid", "os.geteuid", "os.setpgid",
        "os.nice", "os.O_NOFOLLOW", "signal.SIGKILL", "signal.SIGALRM",
    ),
)  # fmt: skip

MACHINES: dict[str, tuple[Machine, dict[str, tuple[int | None, str]]]] = {
    "no llvmlite": (
        Machine(modules=("llvmlite",)),
        {
            "check s.fence": (151, NO_LLVM),
            "check s.fence --cross-check": (151, NO_LLVM),
            "simulate s.fence --check small": (151, NO_LLVM),
            "check s.fence --check small --engine bmc --depth 4": (0, "violated"),
        },
    ),
    "no z3": (
        Machine(modules=("z3",)),
        {
            "check s.fence": (0, "2 checks, all as expected"),
            "check s.fence --engine bmc --depth 4": (151, NO_Z3.replace("local", "bmc", 1)),
            "check s.fence --engine induction": (151, NO_Z3.replace("local", "induction", 1)),
            "doctor": (0, "engine bmc          missing  "),
        },
    ),
    "neither, nor what reckons": (
        Machine(modules=("llvmlite", "z3", "numpy")),
        {"check s.fence": (151, NO_LLVM)},
    ),
    "Windows": (WINDOWS, {"doctor": (0, "memory              works    ")}),
    "no locks": (
        Machine(locks=False),
        {
            "check s.fence": (0, "2 checks, all as expected"),
            "check s.fence --engine local": (0, "2 checks, all as expected"),
        },
    ),
    "a home that cannot be written to": (
        Machine(variables={"HOME": "/dev/null/home", "XDG_CACHE_HOME": ""}),
        {
            "check s.fence": (0, "2 checks, all as expected"),
            "check s.fence --no-symmetry": (0, "2 checks, all as expected"),
        },
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_commands_on_incomplete_machines(name: str, tmp_path: Path) -> None:
    machine, special = MACHINES[name]
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    expected = [*PLAIN.items(), *special.items()]
    left = run_there(machine, tmp_path, [words for words, _ in expected])
    for (words, (code, phrase)), ran in zip(expected, left, strict=True):
        whole = ran.stdout + ran.stderr
        assert code is None or ran.code == code, f"{words}: {whole}"
        assert phrase in whole, f"{words}: {whole}"
        assert "Traceback" not in whole
        assert "internal error" not in whole


# ---------------------------------------------------------------- dependencies


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


KINDS: dict[str, tuple[dict[str, str], set[str]]] = {
    "Linux": ({"sys_platform": "linux", "platform_machine": "x86_64"}, {"llvmlite", "z3-solver"}),
    "Linux on Arm": (
        {"sys_platform": "linux", "platform_machine": "aarch64"},
        {"llvmlite", "z3-solver"},
    ),
    "Linux on RISC-V": ({"sys_platform": "linux", "platform_machine": "riscv64"}, set()),
    "Linux of 32 bits": ({"sys_platform": "linux", "platform_machine": "i686"}, set()),
    "Mac": ({"sys_platform": "darwin", "platform_machine": "arm64"}, {"llvmlite", "z3-solver"}),
    "Mac of Intel": ({"sys_platform": "darwin", "platform_machine": "x86_64"}, {"z3-solver"}),
    "Windows": ({"sys_platform": "win32", "platform_machine": "AMD64"}, {"z3-solver"}),
}
"""Kinds of machines, and the libraries for engines that the package installs on each of them."""


@pytest.mark.parametrize("kind", KINDS)
def test_libraries_are_installed_on_supported_machines(kind: str) -> None:
    from packaging.requirements import Requirement

    environment, expected = KINDS[kind]
    asked = [Requirement(text) for text in project()["dependencies"]]
    come = {
        requirement.name
        for requirement in asked
        if requirement.marker is None or requirement.marker.evaluate(environment)
    }
    assert come & {"llvmlite", "z3-solver"} == expected
    assert {"click", "lark", "markupsafe", "numpy", "platformdirs", "rich"} <= come
    # `doctor` reports a missing library as broken only where it should have been installed.
    machine = (environment["sys_platform"], environment["platform_machine"])
    assert ("llvmlite" in come) == (machine in ENGINES["local"].machines)


def test_extras_bring_the_libraries_that_are_named() -> None:
    brought = {"llvmlite": "llvmlite", "pyspark": "pyspark", "z3": "z3-solver"}
    for library, extra in EXTRAS.items():
        (requirement,) = project()["optional-dependencies"][extra]
        assert requirement.startswith(brought[library])


# ---------------------------------------------------------------- a clone without links


def test_a_clone_without_symbolic_links(tmp_path: Path) -> None:
    """On systems without symbolic links, Git writes a link as a file that contains its target."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    package = tmp_path / ".dev" / "fencepost"
    package.mkdir(parents=True)
    (package / "__init__.py").write_bytes((ROOT / ".dev/fencepost/__init__.py").read_bytes())
    (package / "py.typed").touch()
    for name in ("checker", "invariants", "models", "spec"):
        (package / name).write_text(f"../../{name}", encoding="utf-8")
    code = "from hatchling.build import build_editable; build_editable('dist')"
    done = finished(sys.executable, "-c", code, folder=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "This clone has no symbolic links: .dev/fencepost/checker is a file" in done.stderr
    assert "git config core.symlinks true" in done.stderr
    assert "'pip install .' needs no links" in done.stderr
