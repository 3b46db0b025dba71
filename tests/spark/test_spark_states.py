"""The state graph that ``--save-states`` writes is read back with Spark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark import faults
from tests.spark.clusters import HERE, OF_TWO_EXECUTORS, SETTINGS, TWO_EXECUTORS, from_level
from tests.support.agreement import Run, run_of
from tests.support.command import run as command
from tests.support.examples import EXAMPLES
from tests.support.paths import ROOT

from fencepost.checker.layout import Layout
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Cluster, Limits
from fencepost.checker.spark import graph_rows, session
from fencepost.checker.spark.columns import column, distinct
from fencepost.checker.spark.search import Spark
from fencepost.checker.tools.state_graph import state_graph
from fencepost.spec.core import types
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Type, Value
from fencepost.spec.text.problem import Rejected

RACE = ROOT / "models/kafka/verification_race.fence"
SET = [word for name, value in SETTINGS for word in ("--spark-conf", f"{name}={value}")]
EVERY_TYPE = """
enum Color: Red, Green
record Point: x: -1..1, tag: Color
record Pair: left: Point?, right: Point
union Message: Ping, Move(to: Point, far: bool), tag(of: Color)
union Plain: One, Two
var level: 0..2 = 0
var Level: int16 = -300
var color: Color = Red
var pair: Pair = Pair(none, Point(-1, Green))
var message: Message = Ping
var plain: Plain = One
var maybe: bool? = none
var points: set[Point, 2] = {}
var sent: bag[Message, 2] = []
var path: seq[Color?, 3] = []
var ages: map[Color, int8] = [0 for c in Color]
var by_point: map[Point, bool] = [false for p in Point]
"""


def saved(run: Run, folder: Path, engine: Spark | None = None) -> Outcome:
    """Returns the outcome of a run that writes its state graph to ``folder/graph``."""
    cluster = Cluster(HERE, 3, SETTINGS, states=str(folder), title="graph")
    engine = engine or Spark(cluster, from_level(2))
    outcome = run.outcome(engine)
    assert not list(folder.glob("_incomplete*"))
    return outcome


SHARED = Cluster(HERE, None, SETTINGS)


def table(folder: Path, name: str, cluster: Cluster = SHARED) -> DataFrame:
    """Reads a table that was written to a folder."""
    spark = SparkSession(session.connect(cluster))
    return spark.read.parquet(str(folder / name))


def written(value: Any, kind: Type) -> str:
    """Converts the value of a table cell to the notation of the language, according to its type."""
    match kind:
        case types.Bool():
            return "true" if value else "false"
        case types.Record(name=name, fields=fields):
            return name + of_fields(value, fields)
        case types.Union(variants=variants) if isinstance(value, str):
            assert value in [variant.name for variant in variants]
            return value
        case types.Union(variants=variants):
            names = distinct((v.name for v in variants if v.fields), ("tag",))
            remaining = iter(names)
            for variant in variants:
                column_name = next(remaining) if variant.fields else None
                if variant.name == value.tag:
                    carried = of_fields(value[column_name], variant.fields) if column_name else ""
                    assert [n for n in names if value[n] is not None] == (
                        [column_name] if column_name else []
                    )
                    return variant.name + carried
            raise AssertionError(value)
        case types.Option(element):
            return "none" if value is None else written(value, element)
        case types.Set(element):
            return "{" + ", ".join(written(item, element) for item in value) + "}"
        case types.Seq(element) | types.Bag(element):
            return "[" + ", ".join(written(item, element) for item in value) + "]"
        case types.Map(key, item):
            # A map in a table is unordered, and its keys are scalars or text.
            texts = {str(k).lower() if isinstance(k, bool) else str(k): v for k, v in value.items()}
            keys = [show(k, key) for k in types.values(key)]
            assert texts.keys() == {*keys}
            return "[" + ", ".join(f"{k}: {written(texts[k], item)}" for k in keys) + "]"
        case _:
            return str(value)


def of_fields(row: Any, fields: tuple[types.Field, ...]) -> str:
    pairs = zip(fields, row, strict=True)
    return "(" + ", ".join(f"{f.name}: {written(part, f.type)}" for f, part in pairs) + ")"


def run_of_example(name: str) -> Run:
    (example,) = (example for example in EXAMPLES if example.name == name)
    return run_of(example.text, deadlock=example.deadlock)


RUNS: dict[str, Callable[[], Run]] = {
    "ring": partial(run_of_example, "ring"),
    "constraint": partial(run_of_example, "constraint"),
    "outside_the_constraint": partial(run_of_example, "violated_outside_the_constraint"),
    "unchecked_s12": partial(run_of, RACE, "unchecked_s12"),
    "within_4": partial(run_of, RACE, "unchecked_s12", limits=Limits(depth=4)),
    "two_phase_commit": partial(run_of, ROOT / "models/classics/two_phase_commit.fence", "three"),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_tables_are_the_state_graph(name: str, tmp_path: Path) -> None:
    run = RUNS[name]()
    outcome = saved(run, tmp_path)
    folder = tmp_path / "graph"
    assert f"The states are saved in {folder}." in outcome.notes
    statistics, layout = outcome.statistics, Layout(run.model)
    rows = table(folder, "states").collect()
    assert len(rows) == len({row["id"] for row in rows}) == statistics.distinct
    sizes = Counter(row["level"] for row in rows)
    assert [sizes[n + 1] for n in range(statistics.depth)] == [*statistics.levels]
    states: dict[str, tuple[Value, ...]] = {}
    for row in rows:
        digits = row["id"]
        packed = [int(digits[n : n + 16], 16) for n in range(0, len(digits), 16)]
        states[digits] = layout.decode(packed)
        for variable, value, here in zip(run.model.variables, states[digits], row[2:], strict=True):
            assert written(here, variable.type) == show(value, variable.type), variable.name
    steps = table(folder, "transitions").collect()
    assert len(steps) == statistics.generated
    assert sum(step["from_id"] is None for step in steps) == statistics.generated - sum(
        statistics.transitions
    )
    # The steps from all expanded states, computed independently.
    whole = state_graph(run.model, 100_000)
    levels_of = {vertex.state: vertex.level for vertex in whole.vertices}
    names = {
        vertex.state: "".join(f"{word:016x}" for word in layout.encode(vertex.state))
        for vertex in whole.vertices
    }
    wanted: Counter[tuple[str, str]] = Counter()
    for edge in whole.edges:
        source, target = whole.vertices[edge.source].state, whole.vertices[edge.target].state
        if levels_of[source] < len(statistics.transitions):
            wanted[names[source], names[target]] += len(edge.labels)
    found_steps = Counter((s["from_id"], s["to_id"]) for s in steps if s["from_id"] is not None)
    assert found_steps == wanted
    actions = Counter(step["action"] for step in steps if step["from_id"] is not None)
    assert actions == Counter(
        {
            action.name: times
            for action, times in zip(run.model.actions, outcome.coverage.taken, strict=True)
            if times
        }
    )
    # Only states outside a constraint or beyond the last level may lack a row.
    outside = {step["to_id"] for step in steps} - states.keys()
    assert len(outside) >= outcome.coverage.cut
    if outcome.coverage.cut == 0 and outcome.limit is None and not outcome.findings:
        assert not outside


def test_every_type_has_a_column(tmp_path: Path) -> None:
    run = run_of(
        EVERY_TYPE
        + """
action change(c in Color, x in -1..1):
    require level < 2
    level += 1
    color = c
    pair = Pair(if x == 0 then none else Point(x, c), Point(0, c))
    message = if x == 0 then tag(c) else if x == 1 then Ping else Move(Point(x, c), x < 0)
    plain = if c == Red then One else Two
    maybe = if x == -1 then none else c == Red
    points.add(Point(x, c))
    sent.add(message)
    path.append(if x == 0 then none else c)
    ages[c] += 7
    by_point[Point(x, c)] = true
terminal: level == 2
"""
    )
    outcome = saved(run, tmp_path)
    rows = table(tmp_path / "graph", "states")
    assert rows.columns[:4] == ["id", "level", "level_", "Level__"]
    assert dict(rows.dtypes)["message"] == (
        "struct<tag:string,Move:struct<to:struct<x:bigint,tag:string>,far:boolean>,"
        "tag_:struct<of:string>>"
    )
    layout = Layout(run.model)
    for row in rows.collect():
        digits = row["id"]
        state = layout.decode([int(digits[n : n + 16], 16) for n in range(0, len(digits), 16)])
        for variable, value, here in zip(run.model.variables, state, row[2:], strict=True):
            assert written(here, variable.type) == show(value, variable.type), variable.name
    assert rows.count() == outcome.statistics.distinct
    steps = {row["parameters"] for row in table(tmp_path / "graph", "transitions").collect()}
    assert "c: Green, x: -1" in steps


def test_a_struct_without_fields_is_text() -> None:
    none = types.Record("Nothing", ())
    assert column(none).type.simpleString() == "string"
    assert column(none).write(()) == "Nothing()"
    by_option = types.Map(types.Option(types.Bool()), types.Int(0, 3))
    assert column(by_option).write((1, 2, 3)) == {"none": 1, "false": 2, "true": 3}


def test_the_query_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs/spark.md").read_text(encoding="utf-8")
    asked = re.search(r"```sh\n(fencepost check [^`]*--save-states (\S+)[^`]*)\n```", page)
    assert asked is not None
    words = [str(tmp_path) if word == asked[2] else word for word in asked[1].split()[1:]]
    words[words.index("--master") + 1] = HERE
    ran = command(*words, *SET, "--no-progress", folder=ROOT)
    assert (ran.code, ran.stderr) == (0, "")
    query = re.search(r"```sql\n(.*?)```\n\n(\|.*?)\n\n", page, re.S)
    assert query is not None
    spark = SparkSession(session.connect(SHARED))
    for name in ("states", "transitions"):
        (folder,) = tmp_path.glob(f"*/{name}")
        spark.read.parquet(str(folder)).createOrReplaceTempView(name)
    answer = spark.sql(query[1])
    table_rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in query[2].split("\n")
    ]
    assert table_rows[0] == answer.columns
    assert table_rows[2:] == [[str(row[n]) for n in range(len(row))] for row in answer.collect()]


def test_existing_files_are_left_alone(tmp_path: Path) -> None:
    run = run_of(EXAMPLES[0].text)
    saved(run, tmp_path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with pytest.raises(Rejected, match=r"F036.*graph: it already exists and is not empty"):
        saved(run, tmp_path)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    # An empty folder is accepted.
    (tmp_path / "other" / "graph").mkdir(parents=True)
    saved(run, tmp_path / "other")
    assert table(tmp_path / "other" / "graph", "states").count() == 3


def test_runs_that_cannot_save_states(tmp_path: Path) -> None:
    spec = tmp_path / "any.fence"
    spec.write_text("const N: int8 = any\nvar n: int8 = N\naction up: n += 1\n", encoding="utf-8")
    ran = command("check", str(spec), "--save-states", "here", folder=tmp_path)
    assert ran.code == 151
    assert "error[F032]: --save-states has no meaning for the engine local" in ran.stderr
    assert "note: --save-states is for the engine spark" in ran.stderr
    words = ("--engine", "spark", "--save-states", "here")
    ran = command("check", str(spec), *words, folder=tmp_path)
    assert ran.code == 151
    assert 'error[F037]: --save-states is for one search, and "N" is symbolic' in ran.stderr


def test_a_search_that_was_cut(tmp_path: Path) -> None:
    run = run_of(EXAMPLES[0].text)
    outcome = saved(run.within(max_states=2), tmp_path)
    assert "The states are not saved: the search was cut (--max-states 2)." in outcome.notes
    assert not (tmp_path / "graph").exists()


def test_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_rows, "transitions", faults.no_rows)
    with pytest.raises(Rejected, match=r"F034.*RuntimeError: there are no rows$"):
        saved(run_of(EXAMPLES[0].text), tmp_path)
    assert not [*tmp_path.iterdir()]


def test_an_executor_killed_while_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RUNS["two_phase_commit"]()
    done = tmp_path / "done"
    rows = partial(faults.kills_its_executor_while_saving, done)
    monkeypatch.setattr(graph_rows, "transitions", rows)
    folder = tmp_path / "tables"
    cluster = Cluster(TWO_EXECUTORS, 4, OF_TWO_EXECUTORS, states=str(folder), title="graph")
    outcome = saved(run, folder, Spark(cluster, from_level(9)))
    assert done.exists()
    wanted = (outcome.statistics.distinct, outcome.statistics.generated)
    names = ("states", "transitions")
    assert tuple(table(folder / "graph", name, cluster).count() for name in names) == wanted
