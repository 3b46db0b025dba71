"""The machine that runs the measurements, and the versions of the measured programs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fencepost import __version__
from fencepost.checker.resources import processors

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Machine:
    """The processor, the system, and the versions of programs."""

    processor: str
    cores: int
    memory: int
    system: str
    fencepost: str
    python: str
    llvmlite: str
    spin: str
    gcc: str


def this_machine() -> Machine:
    """Describes the machine that runs this process."""
    return Machine(
        processor=_field("/proc/cpuinfo", "model name") or platform.processor() or "unknown",
        cores=processors(),
        memory=int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) * 1024,
        system=f"{platform.system()} {platform.release()}",
        fencepost=f"{__version__} ({commit(ROOT)})",
        python=platform.python_version(),
        llvmlite=_package("llvmlite"),
        spin=_first_line("spin", "-V"),
        gcc=_first_line("gcc", "--version"),
    )


def load() -> float:
    """Returns the load average of the last minute."""
    return os.getloadavg()[0]


def _field(file: str, name: str) -> str | None:
    try:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    except OSError:
        pass
    return None


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def commit(checkout: Path) -> str:
    """Returns the commit of a checkout, marked if the checkout has changes."""
    description = _first_line("git", "-C", str(checkout), "describe", "--always", "--dirty")
    return description if description != "none" else "no commit"


def _first_line(*command: str) -> str:
    """Returns the first line that a command prints, or "none" if the command is not installed."""
    if shutil.which(command[0]) is None:
        return "none"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip().split("\n")[0] or "none"
