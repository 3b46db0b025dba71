"""The engine spark in the command and in the Python interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.spark import faults
from tests.spark.clusters import HERE, SETTINGS, from_level
from tests.support.agreement import assert_same, run_of
from tests.support.command import run
from tests.support.paths import ROOT
from tests.support.processes import COMMAND, finished

import fencepost
from fencepost.checker.native.search import Local
from fencepost.checker.request import Cluster
from fencepost.checker.spark import session
from fencepost.checker.spark.search import Spark

TWO_PHASES = str(ROOT / "models/classics/two_phase_commit.fence")
SET = [word for name, value in SETTINGS for word in ("--spark-conf", f"{name}={value}")]


def figures(text: str) -> list[dict[str, object]]:
    """Returns the checks of a report without the values that vary between runs."""
    checks: list[dict[str, object]] = json.loads(text)["checks"]
    varying = ("engine", "seconds", "states_per_second", "peak_bytes", "workers")
    return [{k: v for k, v in check.items() if k not in varying} for check in checks]


def test_the_command(tmp_path: Path) -> None:
    path = ROOT / "models/classics/die_hard.fence"
    words = ("check", str(path), "--format", "json", "--no-progress")
    wanted = run(*words, folder=tmp_path)
    cluster = ("--engine", "spark", "--master", HERE, *SET, "--partitions", "2")
    ran = run(*words, *cluster, folder=tmp_path)
    assert (ran.code, ran.stderr) == (wanted.code, "")
    assert figures(ran.stdout) == figures(wanted.stdout)


def test_a_bad_setting_is_one_line(tmp_path: Path) -> None:
    words = ("--engine", "spark", "--master", "lokal[2]", "--no-progress")
    command = (*COMMAND, "check", TWO_PHASES)
    ran = finished(*command, str(ROOT / "models/classics/die_hard.fence"), *words)
    assert ran.returncode == 151
    # Only the first check reports the error; the others are not tried.
    assert ran.stderr.count("error[F034]: ") == ran.stderr.count("error[") == 1
    assert "Master must either be yarn or start with spark, k8s, or local" in ran.stderr
    assert "\tat " not in ran.stderr


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "which has no bin/java"),
        ('openjdk version "11.0.2" 2020-01-14', "is Java 11; install"),
        ('java version "1.8.0_412"', "is Java 8; install"),
        ("no version", 'says "no version"'),
    ],
)
def test_without_a_suitable_java(version: str | None, message: str, tmp_path: Path) -> None:
    if version is not None:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\necho '{version}' >&2\n", encoding="utf-8")
        java.chmod(0o755)
    words = ("check", TWO_PHASES, "--engine", "spark")
    ran = finished(*COMMAND, *words, JAVA_HOME=str(tmp_path))
    assert ran.returncode == 151
    assert ran.stderr.startswith('error[F030]: the engine "spark" cannot run here (it needs Java')
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_an_existing_session() -> None:
    spark = session.connect(Cluster(HERE, 2, SETTINGS))
    result = fencepost.check(TWO_PHASES, checks=["three"], engine="spark", session=spark)
    assert result.as_expected, str(result)
    with pytest.raises(fencepost.Rejected, match="used as it is; leave out master"):
        fencepost.check(TWO_PHASES, engine="spark", session=spark, master="local[3]")
    with pytest.raises(fencepost.Rejected, match="this session has no RDDs"):
        fencepost.check(TWO_PHASES, checks=["three"], engine="spark", session="none")
    assert spark.parallelize([1, 2]).sum() == 3


def test_the_package_is_shipped() -> None:
    settings = (*SETTINGS, ("spark.fencepost.test", "shipped"))
    cluster = Cluster(HERE, 2, settings, ship=True)
    spark = session.connect(cluster)
    (origin,) = spark.parallelize([0], 1).map(faults.origin).collect()
    assert f"fencepost-{fencepost.__version__}.zip" in origin
    search = run_of(Path(TWO_PHASES), "three")
    assert_same(search.by(Local()), search.by(Spark(cluster, from_level(4))), "shipped")
