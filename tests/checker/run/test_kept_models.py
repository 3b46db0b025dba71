"""Cached models and code equal newly built ones, and are only used for the same spec, check and
constants.
"""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import run
from tests.support.compressed_canary import canaries
from tests.support.paths import ROOT

from fencepost.checker.layout import Layout
from fencepost.checker.native import search
from fencepost.checker.native.machine import build as build_code
from fencepost.checker.native.machine import code_cache
from fencepost.checker.native.machine.build import digest
from fencepost.checker.native.machine.code_cache import Cache
from fencepost.checker.native.search import ENGINE
from fencepost.checker.native.states import COMPRESSED_FROM
from fencepost.checker.request import ignored
from fencepost.checker.run import kept_models
from fencepost.checker.run.check import load, prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.kept_models import KeptModels
from fencepost.checker.run.settings import Settings
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims.program import Program, build

SPEC = """\
import counting as c
const Unused: int = 1
invariant Small: c.n < 3
terminal: true
check bug:
    properties: Small
    expect violated Small
check again:
    expect violated Small
check further:
    const c.Most = 4
    expect violated Small
check more:
    const c.Most = 3 + 1
    expect violated Small
check unfair:
    without fair c.up
    expect violated Small
"""
COUNTING = """\
const Most: int = 5
var n: 0..9 = 0
fair action up:
    require n < Most
    n += 1
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "s.fence").write_text(SPEC, encoding="utf-8")
        (tmp_path / name / "counting.fence").write_text(COUNTING, encoding="utf-8")
    return tmp_path


def program(folder: Path, name: str = "one") -> Program:
    return load(folder / name / "s.fence")


def model_name(folder: Path, folder_name: str = "one", check: int = 0, **constants: str) -> str:
    read = program(folder, folder_name)
    overrides = {name.replace("_", "."): text for name, text in constants.items()}
    return KeptModels(read).model(read.checks[check], overrides)[1]


def unwanted(*_: object) -> None:
    raise AssertionError("this is kept")


@pytest.mark.parametrize(
    "path", ["models/kafka/txn_two_phase.fence", "models/classics/raft.fence"], ids=Path
)
def test_a_cached_model_equals_the_built_one(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = load(ROOT / path)
    check = read.checks[0]
    expected = build(read, check)
    assert KeptModels(read).model(check, {})[0] == expected
    monkeypatch.setattr(kept_models, "build", unwanted)
    # Simulates another process, which reads the files again.
    monkeypatch.setattr("fencepost.spec.elaborate.base.files._SHIPPED", {})
    again = load(ROOT / path)
    model, _ = KeptModels(again).model(again.checks[0], {})
    # Spans refer to the source of the program read last.
    assert model == build(again, again.checks[0])
    assert model != expected


def changed(folder: Path) -> str:
    (folder / "one" / "counting.fence").write_text(COUNTING + "# a remark\n", encoding="utf-8")
    return model_name(folder)


OTHERS: list[Callable[[Path], str]] = [
    lambda folder: model_name(folder, "two"),
    lambda folder: model_name(folder, check=2),
    lambda folder: model_name(folder, check=3),
    lambda folder: model_name(folder, check=4),
    lambda folder: model_name(folder, Unused="2"),
    lambda folder: model_name(folder, c_Most="4"),
    lambda folder: model_name(folder, c_Most="5"),
    changed,
]


@pytest.mark.parametrize("other", OTHERS)
def test_the_inputs_of_a_name(folder: Path, other: Callable[[Path], str]) -> None:
    first = model_name(folder)
    assert model_name(folder) == first
    assert other(folder) != first


def test_checks_that_differ_in_properties_share_a_model(folder: Path) -> None:
    read = program(folder)
    kept = KeptModels(read)
    first, second, third = (kept.model(check, {})[0] for check in read.checks[:3])
    assert first is second
    assert first is not third
    assert model_name(folder, check=1) == model_name(folder)


def test_another_version_of_this_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = model_name(folder)
    monkeypatch.setattr(kept_models, "_package", lambda: "changed")
    assert model_name(folder) != first


def test_a_program_that_may_have_been_changed_has_no_name(folder: Path) -> None:
    read = program(folder)
    assert prepare(read, read.checks[0], Settings()).model_name is None


def job(folder: Path) -> Job:
    read = program(folder)
    return prepare(read, read.checks[0], Settings(), KeptModels(read))


@pytest.mark.parametrize("compressed", [False, True])
def test_code_is_cached(compressed: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ENGINE.run(job(folder).request(ignored))
    monkeypatch.setattr(search, "translated", unwanted)
    # Prevents a build of better code, no matter how slow this machine is.
    monkeypatch.setattr(build_code, "MIN_SAVING", 1e9)
    monkeypatch.setattr(build_code, "MIN_SAVING_IN_PARALLEL", 1e9)
    with canaries(1 if compressed else COMPRESSED_FROM) as sets:
        again = ENGINE.run(job(folder).request(ignored))
    assert bool(sets) == compressed
    assert again.findings[0].trace == first.findings[0].trace
    assert again.coverage == first.coverage
    assert again.statistics.levels == first.statistics.levels


def test_a_changed_model_loses_its_name(folder: Path) -> None:
    request = job(folder).request(ignored)
    assert request.model_name is not None
    ENGINE.run(request)
    read = program(folder)
    other: Model = build(read, read.checks[0], {"c.Most": "2"})
    changed = replace(request, model=other)
    assert changed.model_name is None
    assert not ENGINE.run(changed).findings


def test_code_depends_on_the_properties(folder: Path) -> None:
    request = job(folder).request(ignored)
    assert ENGINE.run(request).findings
    assert not ENGINE.run(replace(request, properties=frozenset())).findings


def test_code_of_one_text_has_one_digest(folder: Path) -> None:
    read = program(folder)
    digests: list[str] = []
    for constants in ({}, {"c.Most": "4"}):
        model = build(read, read.checks[0], constants)
        compilation, _ = search.translated(model, Layout(model), frozenset({0}))
        digests += (digest(compilation.quick()), digest(compilation.best()))
    quick, best, other_quick, other_best = digests
    assert quick == best != other_quick == other_best


class Payload:
    """Creates a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_is_not_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched = tmp_path / "made"
    harm = zlib.compress(pickle.dumps(Payload(touched)))

    def read_harm(*_: object) -> bytes:
        return harm

    monkeypatch.setattr(Cache, "read", read_harm)
    read = program(folder)
    assert KeptModels(read).model(read.checks[0], {})[0] == build(read, read.checks[0])
    assert not touched.exists()
    pickle.loads(zlib.decompress(harm))
    assert touched.exists()


# ---------------------------------------------------------------- entries under other names

PAIR = """
var n: 0..3 = 0
action up:
    require n < 2
    n += {step}
invariant Even: n != 1
terminal: n > 1
"""


def entries(folder: Path, step: int) -> dict[str, Path]:
    """Checks a spec and returns the cache entries that this leaves, by kind of content."""
    (folder / "pair.fence").write_text(PAIR.format(step=step), encoding="utf-8")
    cache = folder / f"cache-{step}"
    ran = run(*PAIR_CHECK, folder=folder, environment={"XDG_CACHE_HOME": str(cache)})
    assert ran.code in (Exit.OK, Exit.INVARIANT)
    kinds = {"model": b"\x78", "code": b"\x7fELF"}
    paths: dict[str, Path] = {}
    for path in (cache / "fencepost" / "code").iterdir():
        image = path.read_bytes()[code_cache.HEAD_BYTES :]
        paths[next((k for k, start in kinds.items() if image.startswith(start)), "sizes")] = path
    assert len(paths) == 3
    return paths


PAIR_CHECK = ("check", "pair.fence", "--no-progress", "--workers", "1", "--format", "json")
SWAPPED = [
    *({kind: (other, step)} for kind in ("model", "code", "sizes")
      for step in (1, 2) for other in ("model", "code", "sizes") if (kind, 1) != (other, step)),
    {kind: (kind, 2) for kind in ("model", "code", "sizes")},
]  # fmt: skip


def test_entries_under_the_names_of_others(tmp_path: Path) -> None:
    """The check of this spec is violated, and that of the other spec is not. A run must ignore the
    entries of the other spec and entries of another kind, and rewrite every swapped entry.
    """
    by_step = {step: entries(tmp_path, step) for step in (2, 1)}
    names = by_step[1]
    contents = {
        (kind, step): path.read_bytes()
        for step, paths in by_step.items()
        for kind, path in paths.items()
    }
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache-1")}
    for swap in SWAPPED:
        for kind, path in names.items():
            path.write_bytes(contents[swap.get(kind, (kind, 1))])
        ran = run(*PAIR_CHECK, "-v", folder=tmp_path, environment=cache)
        assert ran.code == Exit.INVARIANT, (swap, ran)
        assert json.loads(ran.stdout)["checks"][0]["verdict"] == "violated"
        counted = f"another key has written {len(swap)} of 3 cache entries"
        assert ran.stderr.startswith(f"note: {counted}"), (swap, ran)
        ran = run(*PAIR_CHECK, "-v", folder=tmp_path, environment=cache)
        assert (ran.code, ran.stderr) == (Exit.INVARIANT, ""), swap


def test_entries_of_another_users_key(tmp_path: Path) -> None:
    names = entries(tmp_path, 1)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache-1"), "XDG_DATA_HOME": str(tmp_path / "data")}
    before = {path: path.read_bytes() for path in names.values()}
    printed = run("doctor", folder=tmp_path, environment=cache).stdout
    assert "another key has written 3 of 3 cache entries" in " ".join(printed.split())
    ran = run(*PAIR_CHECK, folder=tmp_path, environment=cache)
    assert ran.code == Exit.INVARIANT
    assert all(path.read_bytes() != content for path, content in before.items())
    names["model"].write_bytes(names["model"].read_bytes()[:-1])
    printed = run("doctor", folder=tmp_path, environment=cache).stdout
    assert "another key has written 1 of 3 cache entries" in " ".join(printed.split())
