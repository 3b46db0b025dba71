"""The distributions: the sdist, and the wheel built from it, which contains only `fencepost`.

An empty wheel would be built without an error, so its contents are compared with the files that Git
tracks or would add (so that a file can be tested before it is committed).
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.support.paths import ROOT
from tests.support.processes import finished

from fencepost.spec.syntax import parse_table

SHIPPED = ("spec", "checker", "models", "invariants")
"""The folders of the package, at the top of the repository."""

pytestmark = pytest.mark.skipif(
    "CI" not in os.environ and not (find_spec("hatchling") and (ROOT / ".git").exists()),
    reason="needs hatchling (in the extra dev) and a git clone to compare with",
)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the wheel from the unpacked sdist, as installers do."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        # The first releases of Python 3.11 lack filters, and later ones warn without them.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return built("wheel", next(folder.iterdir()), folder / "dist")


def built(target: str, source: Path, folder: Path) -> Path:
    command = (sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder))
    done = finished(*command, folder=source)
    assert done.returncode == 0, done.stderr
    (result,) = folder.iterdir()
    return result


def tracked(*below: str) -> set[str]:
    """Returns the files in some folders that Git tracks or would add."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *below)
    done = finished(*command, folder=ROOT)
    assert done.returncode == 0, done.stderr
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    package = {name for name in names(wheel) if name.startswith("fencepost/")}
    expected = {f"fencepost/{name}" for name in tracked(*SHIPPED)}
    expected |= {
        "fencepost/__init__.py",
        "fencepost/py.typed",
        "fencepost/spec/syntax/grammar.json",
    }
    assert package == expected
    assert any(name.endswith(".lark") for name in package)
    assert any(name.endswith(".fence") for name in package)


def test_wheel_has_the_parse_table_of_its_grammar(wheel: Path) -> None:
    """With the table in the wheel, an installed command need not generate it, and builds are
    reproducible.
    """
    with zipfile.ZipFile(wheel) as archive:
        table = archive.read("fencepost/spec/syntax/grammar.json")
    assert json.loads(table)["stamp"] == parse_table.stamp()
    assert table.decode("utf-8") == parse_table.made()


def test_wheel_has_one_import_name(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"fencepost"}


def test_wheel_carries_licence_and_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (info,) = {name.partition("/")[0] for name in names(wheel)} - {"fencepost"}
        commands = archive.read(f"{info}/entry_points.txt").decode()
        metadata = archive.read(f"{info}/METADATA").decode()
    assert f"{info}/licenses/LICENSE" in names(wheel)
    assert "fencepost = fencepost.checker.cli.start:entry" in commands
    assert "License-Expression: Apache-2.0" in metadata


def test_sdist_has_what_the_tests_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert tracked(*SHIPPED, "tests", "docs", "README.md", "CHANGELOG.md", "LICENSE") <= held
