"""Two brokers coordinate different transactional ids, which write to the same partitions while
coordinators move.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.live.brokers import HOST, RELEASE, Broker, accepted, running, until
from tests.live.producers import Producer, address, conformed, driven, recorded
from tests.live.test_groups import TOPICS, lines_of

from fencepost.checker.systems.kafka import group_requests, requests
from fencepost.checker.systems.kafka.groups import Coordinator, Group
from fencepost.checker.systems.kafka.nodes import Nodes

SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "broker.session.timeout.ms": "60000",
}
NAMES = ("c0", "c1", "c2", "c3")


def transactions_with_moves(nodes: Nodes) -> None:
    """Lets four ids write to all partitions concurrently; each coordinator moves twice, with open
    transactions.
    """
    coordinators = {name: Coordinator(nodes) for name in NAMES}
    every: dict[str, Producer] = {}
    groups = {name: Group(nodes, name, "t") for name in ("red", "green")}
    for name, coordinator in coordinators.items():
        coordinator.find(name)
        every[name] = Producer(name, coordinator.connection(name), nodes.first)
    for group in groups.values():
        group.find()
    assert len({coordinator.partition for coordinator in coordinators.values()}) == 2
    for turn in range(4):
        for name, producer in every.items():
            for p, (leader, _) in enumerate(nodes.leaders("t")):
                producer.leader = nodes.to(leader, name)
                producer.writes(p)
            for group in groups.values():
                producer.commits(group.name, turn, nodes.to(group.leader, name))
        if turn % 2:
            for name in {
                coordinator.partition: name for name, coordinator in coordinators.items()
            }.values():
                coordinators[name].move()
            for name, coordinator in coordinators.items():
                coordinator.find(name)
                every[name].coordinator = coordinator.connection(name)
        for n, producer in enumerate(every.values()):
            producer.ends(commit=(n + turn) % 3 > 0)
        for producer in every.values():
            until(producer.is_complete)


def test_two_coordinators(tmp_path: Path) -> None:
    first = Broker(RELEASE, tmp_path / "one", settings=SETTINGS)
    second = Broker(RELEASE, tmp_path / "two", 2, 2, first.controller, SETTINGS)
    with running(first, second):
        connection = first.connection()
        where = [[1, 2], [2, 1]]
        accepted(connection, lambda: requests.create_topic("__transaction_state", where, True))
        accepted(connection, lambda: requests.create_topic("t", [[1], [2]]))
        accepted(connection, lambda: group_requests.find_coordinator("any"))
        nodes = Nodes(f"{HOST}:{first.port}")
        nodes.leaders("t")
        transactions_with_moves(nodes)
        nodes.close()
        out = recorded(tmp_path / "coordinators", *address(first), "--topics", TOPICS)
        saved = tmp_path / "walk.jsonl"
        words = ("--requests", "100", "--record", str(saved))
        walked = driven(2, first, *words, groups="yes", moves="yes")
    assert conformed(2, "r4_4_0", out) == 0
    records = [line for line in lines_of(out) if "state" in line]
    assert {line["source"][-2:] for line in records} == {"-0", "-1"}
    assert len({line["leader_epoch"] for line in records}) > 2
    assert walked == 0
    asked = [json.loads(line)["kind"] for line in saved.read_text(encoding="utf-8").splitlines()]
    assert asked.count("moved") > 1
