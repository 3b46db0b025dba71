# pyright: basic
"""Comparing recordings on local clusters gives the same results and reports as without Spark."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark import faults
from tests.spark.clusters import HERE, OF_TWO_EXECUTORS, SETTINGS, TWO_EXECUTORS
from tests.support.command import Ran, run
from tests.support.kafka_text import MODELS
from tests.support.lease import DAMAGE, GRANT, HISTORIES, WRITE, folder_with, written

from fencepost.checker.request import Cluster
from fencepost.checker.spark import session
from fencepost.checker.systems.spark import files, tasks

RECORDINGS = Path(__file__).parents[1] / "models" / "recordings"
TEXT = written({name: events for name, (events, _, _) in HISTORIES.items()})


def words(master: str, settings: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    options = [word for name, value in settings for word in ("--spark-conf", f"{name}={value}")]
    return ("--engine", "spark", "--master", master, *options)


# Makes Spark read larger files in several blocks.
IN_BLOCKS = (*SETTINGS, ("spark.sql.files.maxPartitionBytes", "100k"))
ON_SPARK = words(HERE, IN_BLOCKS)


def alone(folder: Path, *arguments: str, mapping: str = "map.fence") -> Ran:
    """Runs the command without Spark. Of the report, this leaves out what Spark does not report:
    files and lines of events, and other checks that allow a history.
    """
    ran = run("conform", mapping, *arguments, folder=folder)
    text = re.sub(r"(?m)^(    at +[^,\n]+),(?: .*|\n {14}\S.*)", r"\1", ran.stdout)
    text = re.sub(r'("(?:file|line)": )[^,}]+', r"\1null", text)
    text = re.sub(r'("otherwise": )"(?:[^"\\]|\\.)*"', r"\1null", text)
    return Ran(ran.code, text, ran.stderr)


def both(folder: Path, *arguments: str, mapping: str = "map.fence") -> tuple[Ran, Ran]:
    """Runs the command without Spark and with it."""
    plain = alone(folder, *arguments, mapping=mapping)
    return plain, run("conform", mapping, *arguments, *ON_SPARK, folder=folder)


def test_the_toy(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    lines = TEXT.splitlines(keepends=True)
    (folder / "logs").mkdir()
    (folder / "logs" / "b [1] ü%20.jsonl").write_text("".join(lines[:9]), encoding="utf-8")
    (folder / "logs" / "c.jsonl.gz").write_bytes(
        gzip.compress("".join(lines[9:15]).encode()) + gzip.compress("".join(lines[15:30]).encode())
    )
    (folder / "logs" / "c").write_text("no event", encoding="utf-8")
    (folder / "a.jsonl").write_text("\ufeff" + "".join(lines[30:])[:-1], encoding="utf-8")
    plain, on_spark = both(folder, "logs", "a.jsonl", "logs/c.jsonl.gz")
    assert (plain.code, plain.stderr) == (15, "")
    assert on_spark == plain


def test_lines_that_cannot_be_read(tmp_path: Path) -> None:
    """Each unreadable line is located, and the other lines are judged, as without Spark."""
    folder = folder_with(tmp_path)
    for n, (line, _) in enumerate(DAMAGE.values()):
        (folder / f"{n:02}.jsonl").write_bytes(TEXT.encode() + b" \n" + line + TEXT.encode())
    many = b"".join(b"nonsense %d\n" % n for n in range(30))
    (folder / "many.jsonl").write_bytes(many + TEXT.encode())
    names = sorted(path.name for path in folder.glob("*.jsonl"))
    plain, on_spark = both(folder, *names, "missing.jsonl", "--format", "json")
    assert plain.code == 151
    assert "many.jsonl: 10 more lines cannot be read" in plain.stderr
    assert on_spark == plain


def test_lines_that_spark_skips_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hadoop skips lines beyond a limit, and Spark skips the rest of a broken file."""
    monkeypatch.setattr(files, "MAX_HELD", 1 << 12)
    folder = folder_with(tmp_path)
    whole = TEXT.encode()
    long = whole + b"x" * 5000 + b"\n" + whole
    (folder / "a.jsonl").write_bytes(long)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(long))
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(whole)[:-20])
    (folder / "d.jsonl.gz").write_bytes(whole)
    names = [
        f"{name}.jsonl{end}" for name, end in zip("abcd", ("", ".gz", ".gz", ".gz"), strict=True)
    ]
    ran = run("conform", "map.fence", *names, *ON_SPARK, folder=folder)
    assert ran.code == 151
    errors = [line for line in ran.stderr.splitlines() if line.startswith("error")]
    assert errors[0] == "error[F047]: a.jsonl: a line is longer than 4,096 bytes"
    assert errors[1] == "error[F047]: b.jsonl.gz: a line is longer than 4,096 bytes"
    assert errors[2].startswith("error[F047]: c.jsonl.gz:")
    assert errors[2].endswith("the compressed file ends too early; the part before is judged")
    assert errors[3].startswith("error[F047]: d.jsonl.gz:1: ")
    assert len(errors) == 4
    assert (
        "both"
        in run("conform", "map.fence", *names, *ON_SPARK, "--format", "json", folder=folder).stdout
    )


@pytest.mark.parametrize(
    ("name", "spec", "check"),
    [
        ("java-4.4.0-tv2-kill", "conform_kafka", "r4_2_0_outages"),
        ("answers-4.4.0-tv2", "conform_answers_v2", "r4_4_0"),
    ],
)
def test_recordings_of_brokers(name: str, spec: str, check: str, tmp_path: Path) -> None:
    path = RECORDINGS / f"{name}.jsonl.gz"
    arguments = (str(path), "--check", check, "--max-states", "2000", "--format", "json")
    plain, on_spark = both(tmp_path, *arguments, mapping=str(MODELS / f"{spec}.fence"))
    assert plain.code in (0, 15, 3)
    assert on_spark == plain


BY = """\
import lease as m
recording:
    key file by lock, session
    source server ordered
    source store ordered
    bind client: m.Client
event granted(client: client, token: int) from server
event written(client: client, token: int) from store
shows granted(next(m.Server.holder)!, next(m.Server.issued)) on m.Server.grant
shows written(client, token) on m.Store.on_write(client, token)
input stalled(client: client) from server: m.Server.expire
"""


def test_lines_assigned_by_other_lines(tmp_path: Path) -> None:
    """Other lines assign lines without the key, as without Spark; a field that belongs to two
    histories assigns a line to neither.
    """
    folder = folder_with(tmp_path, BY)
    keys: list[int | str] = [3, -20, -3, "b", "3", 10, "ä", 10**40]
    lines: list[dict[str, Any]] = []
    for key in keys:
        lines.append({"file": key, "lock": str(key), "session": f"of {key}", **GRANT})
        lines.append({"lock": str(key), "session": "nobody's", **WRITE})
        lines.append({"lock": 7, "session": f"of {key}", **GRANT})
    lines += [{"lock": "3", **WRITE}, {"session": "of 3", **WRITE}, {"lock": "?", "source": "?"}]
    random.Random(3).shuffle(lines)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "r.jsonl").write_text(text, encoding="utf-8")
    plain, on_spark = both(folder, "r.jsonl", "--format", "json")
    assert plain.code == 151
    number = next(n for n, line in enumerate(lines, 1) if line.keys() == {"lock", *WRITE})
    assert f'r.jsonl:{number}: lock "3" belongs to the histories 3 and 3' in plain.stderr
    assert json.loads(plain.stdout)["strays"] > 0
    assert [history["key"] for history in json.loads(plain.stdout)["histories"]][:3] == [-20, -3, 3]
    assert on_spark == plain


def test_tables(tmp_path: Path) -> None:
    """Parquet serves as input and as output."""
    folder = folder_with(tmp_path)
    (folder / "r.jsonl").write_text(TEXT, encoding="utf-8")
    spark = SparkSession(session.connect(Cluster(HERE, None, IN_BLOCKS)))
    lines = spark.read.json(str(folder / "r.jsonl"), primitivesAsString=False)
    lines.selectExpr("*", "1.5 as other").coalesce(1).write.parquet(str(folder / "r.parquet"))
    numbers = [name for name in HISTORIES if name != "a huge number"]
    (folder / "s.jsonl").write_text(
        written({n: HISTORIES[n][0] for n in numbers}), encoding="utf-8"
    )
    lines = spark.read.json(str(folder / "s.jsonl"))
    lines.selectExpr("*", "1.5 as other").coalesce(1).write.parquet(str(folder / "s.parquet"))
    plain = alone(folder, "s.jsonl")
    saved = ("--results", "out/verdicts")
    (folder / "out").mkdir()
    on_spark = run("conform", "map.fence", "s.parquet", *ON_SPARK, *saved, folder=folder)
    assert on_spark == plain
    rows = spark.read.parquet(str(folder / "out" / "verdicts" / "histories")).collect()
    expected = {name: (HISTORIES[name][1], HISTORIES[name][2]) for name in numbers}
    assert {row.history: (row.verdict, row.read) for row in rows} == {
        name: expected_result for name, expected_result in expected.items() if name != "nothing"
    }
    coverage = spark.read.parquet(str(folder / "out" / "verdicts" / "coverage")).collect()
    counts = {(row.kind, row.name): row["count"] for row in coverage}
    assert counts["action", "m.Server.grant"] > 5
    assert counts["event", "written"] == 1
    assert os.listdir(folder / "out") == ["verdicts"]
    again = run("conform", "map.fence", "s.parquet", *ON_SPARK, *saved, folder=folder)
    assert (again.code, again.stderr.startswith("error[F036]: the verdicts cannot be saved")) == (
        151,
        True,
    )


def test_a_long_history_among_many(tmp_path: Path) -> None:
    """Most lines have one key, and there are more tasks than histories."""
    folder = folder_with(tmp_path)
    lines = [{"file": "long", **GRANT}] + [{"file": "long", **WRITE}] * 3000
    lines += [{"file": n, **GRANT} for n in range(40)]
    random.Random(1).shuffle(lines)
    text = [json.dumps(line) + "\n" for line in lines]
    text[2500:2500] = ["nonsense\n", "\n", "{}\n"]
    (folder / "r.jsonl").write_text("".join(text), encoding="utf-8")
    plain = alone(folder, "r.jsonl")
    assert "error[F047]: r.jsonl:2503: no field" in plain.stderr
    options = (*ON_SPARK, "--partitions", "64")
    assert run("conform", "map.fence", "r.jsonl", *options, folder=folder) == plain


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "r.jsonl").write_text(TEXT, encoding="utf-8")
    for options in (("--master", HERE), ("--results", "x"), (*ON_SPARK, "--save-states", "x")):
        ran = run("conform", "map.fence", "r.jsonl", *options, folder=folder)
        assert (ran.code, ran.stderr.startswith("error[F032]: --")) == (151, True)


def test_a_killed_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path)
    (folder / "r.jsonl").write_text(TEXT, encoding="utf-8")
    plain = alone(folder, "r.jsonl")
    done = tmp_path / "done"
    monkeypatch.setattr(tasks, "judged", partial(faults.kills_its_executor_judging, done))
    cluster = words(TWO_EXECUTORS, OF_TWO_EXECUTORS)
    on_spark = run("conform", "map.fence", "r.jsonl", *cluster, "--partitions", "4", folder=folder)
    assert done.exists()
    assert on_spark == plain
