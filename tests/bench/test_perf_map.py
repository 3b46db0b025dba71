"""The names and addresses of machine code are written for a profiler."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from bench import perf_map
from tests.support.agreement import model_of
from tests.support.examples import EXAMPLES

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine import build
from fencepost.checker.native.search import translated


@pytest.mark.parametrize("better", [False, True])
def test_addresses_of_functions(
    better: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf_map, "FOLDER", tmp_path)
    # Makes `monkeypatch` restore the original after the test.
    monkeypatch.setattr(build, "load", vars(build)["load"])
    perf_map.install()
    model = model_of(EXAMPLES[0].text)
    compilation, _ = translated(model, Layout(model), frozenset())
    code = compilation.best() if better else compilation.quick()
    (path,) = tmp_path.iterdir()
    assert path.name == f"perf-{os.getpid()}.map"
    symbols: dict[str, tuple[int, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        address, size, name = line.split()
        symbols[name] = int(address, 16), int(size, 16)
    for name in ("expand", "merge", "examine"):
        assert symbols[f"0:{name}"][0] == code.engine.get_function_address(name)
    # The symbols include `emit_late`, which only this code calls; no function overlaps another.
    assert "0:emit_late" in symbols
    extents = sorted(symbols.values())
    assert all(start + size <= other for (start, size), (other, _) in pairwise(extents))
