"""The Python interface returns the same results as the command, as values."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.checker.cli.test_main import COUNTER
from tests.support.paths import ROOT
from tests.support.processes import finished

import fencepost
from fencepost.checker.outcome import Verdict
from fencepost.checker.run import check as run_check


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    spec = tmp_path / "counter.fence"
    spec.write_text(COUNTER, encoding="utf-8")
    return spec


def test_a_result(counter: Path) -> None:
    result = fencepost.check(counter, checks=["small"])
    assert result.verdict is Verdict.VIOLATED
    assert (result.property_name, result.depth, result.distinct) == ("Small", 4, 4)
    assert (result.as_expected, result.exit_code) == (True, 0)
    assert result.trace is not None
    assert [step["action"] for step in result.trace] == [None, "up", "up", "up"]
    assert result.trace[-1]["state"] == {"x": 3}
    assert "violated Small, as expected" in str(result)
    assert result.to_json()["spec"] == str(counter)


def test_all_checks_and_one_of_them(counter: Path) -> None:
    result = fencepost.check(str(counter))
    assert [check.job.check.name for check in result.checks] == ["small", "fine"]
    assert result["fine"].outcome.statistics.distinct == 3
    with pytest.raises(KeyError):
        result["none"]


def test_constants_are_numbers_or_text(counter: Path) -> None:
    for value in (4, "2 + 2"):
        result = fencepost.check(counter, checks=["fine"], const={"N": value})
        assert (result.verdict, result.exit_code) == (Verdict.VIOLATED, 12)


def test_limits(counter: Path) -> None:
    result = fencepost.check(counter, checks=["fine"], max_states=2)
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, 3)


def test_engines_workers_and_memory(counter: Path) -> None:
    for engine, workers in (("local", 2), ("interpreter", 1)):
        result = fencepost.check(counter, engine=engine, workers=workers, memory="1G")
        assert result.as_expected
        assert [check.job.workers for check in result.checks] == [workers] * 2
    assert fencepost.check(counter).checks[0].job.engine == "local"


@pytest.mark.parametrize(
    ("free", "options", "workers", "noted"),
    [
        (1, {}, 1, True),
        (4, {}, 4, False),
        (1, {"workers": 2}, 2, False),
        (1, {"engine": "interpreter"}, 1, False),
    ],
)
def test_default_number_of_workers_if_processors_are_busy(
    free: int,
    options: dict[str, Any],
    workers: int,
    noted: bool,
    counter: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_check, "processors", lambda: 4)
    monkeypatch.setattr(run_check, "free_processors", lambda: free)
    monkeypatch.setattr(run_check, "LONG_SEARCH", 1)
    for check in fencepost.check(counter, **options).checks:
        notes = [note for note in check.outcome.notes if "--workers 4 sets" in note]
        assert (check.job.workers, len(notes)) == (workers, int(noted))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"workers": 0}, "workers=0: it must be from 1 to 256"),
        ({"workers": 1000}, "workers=1000: it must be from 1 to 256"),
        ({"workers": 2, "engine": "interpreter"}, "the interpreter uses one worker"),
        ({"memory": "much"}, '"much" is not a size like 4G'),
        ({"memory": 5}, "memory=5: it must be at least"),
        ({"depth": -1}, "depth=-1: it must be at least 0"),
        ({"engine": "nitro"}, 'there is no engine "nitro"'),
    ],
)
def test_invalid_arguments(counter: Path, words: dict[str, Any], message: str) -> None:
    with pytest.raises(fencepost.Rejected, match=message):
        fencepost.check(counter, **words)


def test_refusals_are_exceptions(counter: Path, tmp_path: Path) -> None:
    with pytest.raises(fencepost.Rejected, match='did you mean "small"'):
        fencepost.check(counter, checks=["smal"])
    slow = tmp_path / "slow.fence"
    slow.write_text(COUNTER.replace("small:", "small slow:").split("check fine")[0])
    with pytest.raises(fencepost.Rejected, match="slow=True"):
        fencepost.check(slow)
    assert fencepost.check(slow, slow=True).as_expected


def test_importing_the_language_does_not_load_the_checker() -> None:
    code = (
        "import sys, fencepost.spec.text.problem\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('click', 'rich') or 'checker' in m])"
    )
    assert finished(sys.executable, "-c", code).stdout == "[]\n"


def test_unknown_names_are_reported() -> None:
    with pytest.raises(AttributeError, match="'chekc'"):
        getattr(fencepost, "chekc")  # noqa: B009 (typed access would not compile)


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == fencepost.__version__
