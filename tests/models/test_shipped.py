"""The checks of every shipped model have their expected results, and the spec on page 1 has its
published figures.

Of the checks of a Kafka model, only a third runs, and only checks with few states;
``FENCEPOST_SHIPPED=all`` and ``FENCEPOST_MODELS=20000000`` run the others.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.amounts import amount, everything
from tests.support.paths import ROOT
from tests.support.shipped import MODELS, ShippedCheck, checks, has_many_checks, is_port

import fencepost
from fencepost.checker import engines
from fencepost.spec.syntax.nodes import CheckDecl, CheckEngine, ExpectCount, ExpectVerdict
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.library import read

LARGEST = amount("MODELS", 1000)
"""The largest number of generated states for checks of ports and of models with many checks, except
for the first check of each model.
"""

MOST = {"local": max(LARGEST, 5_000_000), "interpreter": 50_000}
"""An engine takes too long for checks that generate more states than this."""

SHARE = 1 if everything("SHIPPED") else 3
"""Of the checks of a model with many checks, one in this number runs."""

ONE_ENGINE = 20_000
"""A check of a model with many checks runs on one engine: on the interpreter, which needs no
compilation, if it generates at most this many states.
"""


def engines_for(check: ShippedCheck) -> list[str]:
    """Returns the engines that run a check here: all that can, or one if the model has many
    checks.
    """
    if check.engine is not None:
        return [check.engine]
    generated = check.counts["generated"]
    able = [engine for engine in MOST if generated <= MOST[engine]]
    if not (has_many_checks(check.path) or is_port(check.path)) or not able:
        return able
    if generated > LARGEST and check != checks(check.path)[0]:
        return []
    return ["interpreter" if generated <= ONE_ENGINE else "local"]


@pytest.mark.parametrize("engine", [*MOST, "bmc", "induction"])
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_checks_of_a_shipped_model(path: Path, engine: str) -> None:
    """A single call runs all these checks, since it loads the model only once."""
    share = SHARE if has_many_checks(path) else 1
    names = [check.name for check in checks(path)[::share] if engine in engines_for(check)]
    if names:
        result = fencepost.check(path, checks=names, engine=engine, slow=True)
        assert len(result.checks) == len(names)
        assert result.as_expected, str(result)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_states_its_expectations(path: Path) -> None:
    tree, problems = parse(read(path))
    assert not problems, "\n".join(map(str, problems))
    assert tree.docstring is not None
    assert "Expected:" in tree.docstring
    parsed = [item for item in tree.declarations if isinstance(item, CheckDecl)]
    assert parsed, "a shipped model has checks"
    for node, check in zip(parsed, checks(path), strict=True):
        assert any(isinstance(item, ExpectVerdict) for item in node.items), check.name
        named = [
            item.engine.text for item in node.items if isinstance(item, CheckEngine) and item.engine
        ]
        counts: dict[str, int] = {
            item.what: item.count for item in node.items if isinstance(item, ExpectCount)
        }
        read_as = ShippedCheck(path, node.name.text, node.slow, named[0] if named else None, counts)
        assert check == read_as
        if not engines.visits_states(check.engine):
            assert counts.keys() <= {"depth"}, check.name
        else:
            assert counts.keys() == {"states", "generated", "depth"}, check.name


# The published counts: distinct states, generated states, depth (None if not published).
PUBLISHED = {
    "die_hard-every_state": (16, 97, 8),
    "transaction_commit-three": (34, 94, 7),
    "two_phase_commit-three": (288, 1_146, 11),
    "two_phase_commit-five": (8_832, None, None),
    "two_phase_commit-six": (50_816, 402_306, 20),
    "two_phase_commit-seven": (296_448, 2_744_706, 23),
    "two_phase_commit-eight": (1_745_408, 18_507_778, 26),
    "two_phase_commit-nine": (10_340_352, 123_558_402, None),
    "two_phase_commit-ten": (61_515_776, 817_760_258, None),
    "readers_writers-three": (21_527, 59_674, 13),
    "chameneos-four": (34_534, 104_697, 13),
    "simple_regular-eight": (277_726, 1_454_776, 25),
    "ewd840-three": (302, 2_001, None),
    "atomic_commitment-three": (54_944, 218_352, 21),
    "bakery-inductive": (655_200, 3_403_584, 1),
    "btree-four_keys": (374_727, 2_820_091, 38),
    "bosco-three": (7_568, 85_304, 7),
    "bosco-four": (1_072_452, 29_223_200, 10),
    "byzantine_broadcast-four": (14_424, 227_344, 7),
    "coffee_can-hundred": (5_150, 20_002, 1),
    "coffee_can-thousand": (501_500, 2_000_002, 1),
    "disruptor-two_three": (112_929, 422_781, 81),
    "ewd687a-four": (18_028, 177_171, 27),
    "ewd998-three": (321_370, 2_808_396, 47),
    "folklore_broadcast-four": (501_552, 9_718_336, 9),
    "kafka_init_pid-one_client": (14, 15, 8),
    "kafka_init_pid-two_clients": (484, 861, 18),
    "kafka_transactions-two_clients": (10_897, 19_646, 36),
    "kafka_transactions-two_elections": (145_725, 272_691, 47),
    "kafka_transactions-three_clients": (3_746_066, 9_437_778, 58),
    "klotski-every_state": (25_955, 88_049, 168),
    "lamport_mutex-three": (724_274, 2_729_079, 61),
    "multipaxos-write_only": (15_709, 28_027, 19),
    "multipaxos-write_and_read": (2_062_561, 4_415_485, 28),
    "nano_blockchain-three": (3_003, 6_083, 7),
    "nano_blockchain-four": (552_991, 1_728_895, 11),
    "nbac_guerraoui-two": (551, 2_288, 9),
    "nbac_guerraoui-three": (24_922, 159_538, 16),
    "nbac_raynal-two": (3_016, 49_592, 7),
    "paxos-two_ballots": (3_921, 23_563, 17),
    "paxos-three_ballots": (185_369, 1_361_380, 25),
    "paxos_commit-two": (1_321_761, 16_959_159, 28),
    "voting-three_ballots": (6_752, 41_017, 16),
    "raft-four_terms": (417_637, 950_710, 52),
    "snapshot_isolation-three": (189_664, 365_596, 13),
    "spanning_tree-five": (1_236, 10_278, 5),
    "yoyo-four": (864, 1_308, 23),
    "yoyo-five": (26_731, 48_535, 39),
    "yoyo-one_graph": (102, 157, 31),
}


@pytest.mark.parametrize(
    ("path", "name", "workers"),
    [
        pytest.param(path, check.name, workers, id=f"{check}-{workers}")
        for path in MODELS
        for check in checks(path)
        for workers in (1, 2, 3)
        if str(check) in PUBLISHED
        and check.counts["generated"] <= max(LARGEST, 15_000 if is_port(path) else 500_000)
    ],
)
def test_published_counts_with_any_number_of_workers(path: Path, name: str, workers: int) -> None:
    result = fencepost.check(path, checks=[name], engine="local", workers=workers)
    assert result.as_expected, str(result)


def test_checks_expect_the_published_counts() -> None:
    expected = {str(check): check.counts for path in MODELS for check in checks(path)}
    for name, published in PUBLISHED.items():
        for figure, count in zip(("states", "generated", "depth"), published, strict=True):
            assert count is None or expected[name][figure] == count, (name, figure)


# The spec on the first page of the language reference, with the results of an independent search of
# the same machine: verdict, distinct states, generated states, depth.
PAGE_ONE = {
    "unverified": ("violated", 22, 30, 8),
    "race": ("violated", 79, 117, 10),
    "fixed": ("ok", 180, 346, 15),
}


@pytest.fixture(scope="module")
def page_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    block = re.search(r"^```fence check file=race.fence\n(.*?)^```$", text, re.M | re.S)
    assert block is not None
    path = tmp_path_factory.mktemp("page_one") / "race.fence"
    path.write_text(block[1], encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PAGE_ONE)
def test_spec_of_page_one_gives_its_figures(page_one: Path, name: str) -> None:
    result = fencepost.check(page_one, checks=[name])
    figures = (result.verdict.value, result.distinct, result.generated, result.depth)
    assert figures == PAGE_ONE[name]
    assert result.as_expected, str(result)
    states = 0 if result.trace is None else len(result.trace)
    assert states == (0 if name == "fixed" else result.depth)


def test_the_race_has_the_shortest_trace() -> None:
    """The trace has the actions of KAFKA-14884, with the last steps in the only order that shortest
    traces allow.
    """
    result = fencepost.check(
        ROOT / "models/kafka/verification_race.fence", checks=["unchecked_s1t"]
    )
    assert result.trace is not None
    actions = [step["action"] for step in result.trace]
    assert actions[-3:] == [
        "Coordinator.on_end_txn",
        "Leader.on_write_markers",
        "Leader.on_verified",
    ]
