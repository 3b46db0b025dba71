"""TLC and the evaluator agree on random constant expressions, errors included."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from bench.tlc_run import JAVA_OPTIONS, Tlc
from tests.support.paths import ROOT
from tests.support.tla_expressions import CONFIG, expressions, module

from fencepost.spec.text.problem import Rejected
from fencepost.spec.tla.evaluate.machine import Env, Layout, Located
from fencepost.spec.tla.evaluate.specification import Condition, Specification

_ORACLE = ROOT / "tests" / "support" / "ExpressionOracle.java"
_TIMEOUT_SECONDS = 300
_UNEVALUATED = "<expression "
"""Part of the text of a value that TLC has not evaluated."""


def judged(folder: Path, texts: list[str]) -> list[str]:
    """Returns TLC's results."""
    tlc = Tlc.locate()
    (folder / "R.tla").write_text(module("R", texts), encoding="utf-8")
    (folder / "R.cfg").write_text(CONFIG, encoding="utf-8")
    ran = subprocess.run(
        [
            tlc.java, *JAVA_OPTIONS, f"-Djava.io.tmpdir={folder}", "-cp", str(tlc.jar),
            str(_ORACLE), "R",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=True,
    )  # fmt: skip
    assert "@@end" in ran.stdout, ran.stdout
    return [_plain(text) for text in re.findall(r"^@@\d+ (.*)$", ran.stdout, re.MULTILINE)]


def _plain(text: str) -> str:
    """Returns TLC's text with intervals written out, and with our text of the empty function."""
    text = text.replace("<< >>", "<<>>")
    return re.sub(
        r"(-?\d+)\.\.(-?\d+)",
        lambda ends: f"{{{', '.join(map(str, range(int(ends[1]), int(ends[2]) + 1)))}}}",
        text,
    )


def evaluated(folder: Path) -> list[str]:
    """Returns the evaluator's results for the same module."""
    specification = Specification(folder / "R.tla", folder / "R.cfg")
    results: list[str] = []
    for unit in specification.root.assumptions:
        try:
            layout = Layout()
            code = specification.compiler.expr(unit.body, Env(specification.root, layout))
            value = specification.value(Condition("", unit.span, code, layout), [])
            results.append(f"value {specification.universe.show(value)}")
        except (Located, Rejected) as error:
            results.append(f"error {error}")
    return results


@pytest.mark.parametrize("seed", [1, 2])
def test_values_are_those_of_tlc(seed: int, tmp_path: Path) -> None:
    texts = expressions(seed, 400)
    theirs = judged(tmp_path, texts)
    ours = evaluated(tmp_path)
    differences = [
        f"{text}\n  ours {mine}\n  TLC's {other}"
        for text, mine, other in zip(texts, ours, theirs, strict=True)
        if mine != other and not mine[:5] == other[:5] == "error" and _UNEVALUATED not in other
    ]
    assert not differences, "\n".join(differences)
