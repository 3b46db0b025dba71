"""The selection of events from broker logs for recordings, and `fencepost record kafka
--segments`.
"""

from __future__ import annotations

import importlib.util
import json
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from tests.checker.systems.kafka import bytes_by_hand as by_hand
from tests.support.paths import ROOT

from fencepost.checker.cli.main import main
from fencepost.checker.systems.kafka import cluster, nodes
from fencepost.checker.systems.kafka.batches import Batch
from fencepost.checker.systems.kafka.events import Entry, entries
from fencepost.checker.systems.kafka.recorder import RecordingResult, Round, record

LOGS = ROOT / "tests" / "checker" / "systems" / "kafka" / "logs"
LOG = "__transaction_state-0"
EMPTY, ONGOING, PREPARE, COMPLETE = 0, 1, 2, 4


@dataclass(frozen=True)
class Bytes:
    """A log in memory."""

    source: str
    data: bytes

    def read(self) -> Iterator[tuple[Batch, list[Entry]]]:
        return entries(self.data, self.source)


@dataclass
class Cluster:
    """The logs of a transaction coordinator and of partition t-0; tests append entries to both."""

    transactions: list[bytes] = field(default_factory=list[bytes])
    data: list[bytes] = field(default_factory=list[bytes])
    gaps: int = 0

    def writes(
        self, name: str, producer: int, epoch: int, state: int, forget: bool = False
    ) -> None:
        partitions = {"t": [0]} if state in (ONGOING, PREPARE) else {}
        value = None if forget else by_hand.value_1(producer, epoch, state, partitions)
        written = by_hand.record(0, by_hand.key(name), value)
        self.transactions.append(by_hand.batch(self.next, [written]))

    @property
    def next(self) -> int:
        return len(self.transactions) + self.gaps

    def commits(self, name: str, producer: int, epoch: int) -> None:
        self.writes(name, producer, epoch, ONGOING)
        self.data.append(by_hand.data(len(self.data), producer, epoch, 0))
        self.writes(name, producer, epoch + 1, PREPARE)
        self.data.append(by_hand.marker(len(self.data), producer, epoch + 1, 1))
        self.writes(name, producer, epoch + 1, COMPLETE)

    def at(self) -> tuple[int, int]:
        return self.next, len(self.data)

    def recorded(
        self, folder: Path, *rounds: Round
    ) -> tuple[RecordingResult, dict[str, list[str]]]:
        """Returns the result of `record`, and the ids and kinds of the lines by source."""
        logs = [Bytes(LOG, b"".join(self.transactions)), Bytes("t-0", b"".join(self.data))]
        result = record(logs, rounds, folder)
        return result, shown(folder)


def shown(folder: Path) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        for row in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(row)
            name = line.get("id", line["producer_id"])
            text = f"{name} {line.get('state', line.get('kind'))}"
            texts.setdefault(path.name.removesuffix(".jsonl"), []).append(text)
            assert line["source"] == path.name.removesuffix(".jsonl")
    return texts


def around(before: tuple[int, int], data: tuple[int, int], after: tuple[int, int]) -> Round:
    return Round({LOG: before[0]}, {"t-0": data[1]}, {LOG: after[0]})


ONCE = ["a Empty", "a Ongoing", "a PrepareCommit", "a CompleteCommit"]


def test_a_complete_log(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.writes("a", 1, 0, EMPTY)
    cluster.commits("a", 1, 0)
    result, lines = cluster.recorded(tmp_path)
    assert lines == {LOG: ONCE, "t-0": ["1 DATA", "1 COMMIT"]}
    assert (result.histories, result.events, result.compacted) == (1, 6, 0)


def test_producers_without_an_id_are_left_out(tmp_path: Path) -> None:
    cluster = Cluster(data=[by_hand.data(0, 77, 0, 0)])
    cluster.writes("a", 1, 0, EMPTY)
    _, lines = cluster.recorded(tmp_path)
    assert lines == {LOG: ["a Empty"]}


def test_an_expired_id_that_reappears_is_another_history(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.writes("a", 1, 0, EMPTY)
    cluster.writes("a", 1, 0, EMPTY, forget=True)
    cluster.writes("a", 2, 0, EMPTY)
    _, lines = cluster.recorded(tmp_path)
    assert lines == {LOG: ["a Empty", "a (2) Empty"]}


def test_a_compacted_beginning(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.writes("b", 2, 0, EMPTY)
    cluster.writes("a", 1, 5, COMPLETE)
    cluster.gaps = 40
    cluster.commits("a", 1, 5)
    cluster.writes("c", 3, 0, EMPTY)
    result, lines = cluster.recorded(tmp_path)
    # Id b, which came before the compacted one, is still present, and c came later.
    assert lines == {LOG: ["b Empty", "c Empty"]}
    assert shown(tmp_path / "compacted") == {
        f"start-of-{LOG}": ["a CompleteCommit"],
        LOG: ONCE[1:],
        "t-0": ["1 DATA", "1 COMMIT"],
    }
    assert (result.histories, result.compacted) == (3, 1)


def test_a_history_that_begins_late(tmp_path: Path) -> None:
    """The history of id a begins with what compaction has left, followed by an InitProducerId."""
    cluster = Cluster()
    cluster.data += [by_hand.data(0, 1, 4, 0), by_hand.marker(1, 1, 5, 1)]
    cluster.writes("a", 1, 5, COMPLETE)
    cluster.gaps = 40
    cluster.commits("a", 1, 5)
    cluster.writes("a", 1, 7, EMPTY)
    cluster.commits("a", 1, 7)
    cluster.writes("b", 2, 0, EMPTY)
    result, lines = cluster.recorded(tmp_path)
    assert lines == {
        LOG: [*ONCE, "b Empty"],
        f"start-of-{LOG}": ["a CompleteCommit"],
        "t-0": ["1 BEFORE", "1 DATA", "1 COMMIT"],
    }
    assert (result.histories, result.late, result.compacted) == (2, 1, 0)
    text = (tmp_path / "t-0.jsonl").read_text(encoding="utf-8").splitlines()[0]
    before = json.loads(text)
    assert (before["epoch"], before["in_transaction"]) == (6, False)
    assert [json.loads(line)["epoch"] for line in source_lines(tmp_path, f"start-of-{LOG}")] == [6]
    assert [json.loads(line)["epoch"] for line in source_lines(tmp_path, LOG)] == [7, 7, 8, 8, 0]


def source_lines(folder: Path, source: str) -> list[str]:
    """Returns the lines of a source."""
    return (folder / f"{source}.jsonl").read_text(encoding="utf-8").splitlines()


def test_a_partition_without_its_beginning(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.writes("a", 1, 0, EMPTY)
    cluster.writes("b", 2, 0, EMPTY)
    cluster.commits("a", 1, 0)
    del cluster.data[0]
    result, lines = cluster.recorded(tmp_path)
    assert (result.lost, lines) == (["a"], {LOG: ["b Empty"]})


def test_a_partition_that_was_not_read(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.writes("a", 1, 0, EMPTY)
    cluster.commits("a", 1, 0)
    result = record([Bytes(LOG, b"".join(cluster.transactions))], (), tmp_path)
    assert (result.absent, result.histories, shown(tmp_path)) == (["a"], 0, {})


def test_each_id_is_cut_at_its_last_quiet_round(tmp_path: Path) -> None:
    """In the second round, id a continues between the two reads of the coordinator's log, and id b
    does not.
    """
    cluster = Cluster()
    cluster.writes("a", 1, 0, EMPTY)
    cluster.writes("b", 2, 0, EMPTY)
    first = cluster.at()
    quiet = around(first, first, first)
    cluster.commits("b", 2, 0)
    second = cluster.at()
    cluster.writes("a", 1, 0, ONGOING)
    cluster.data.append(by_hand.data(len(cluster.data), 1, 0, 0))
    third = cluster.at()
    cluster.writes("a", 1, 1, PREPARE)
    moving = around(second, third, cluster.at())
    result, lines = cluster.recorded(tmp_path, quiet, moving)
    assert lines[LOG] == ["a Empty", "b Empty", "b Ongoing", "b PrepareCommit", "b CompleteCommit"]
    assert lines["t-0"] == ["2 DATA", "2 COMMIT"]
    assert result.busy == []


def test_an_id_that_is_never_quiet_is_left_out(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.writes("a", 1, 0, EMPTY)
    start = cluster.at()
    cluster.commits("a", 1, 0)
    result, lines = cluster.recorded(tmp_path, around(start, cluster.at(), cluster.at()))
    assert (result.busy, lines) == (["a"], {})


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize("level", [1, 2])
def test_the_recording_of_a_stopped_broker_is_allowed(
    level: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "recording"
    words = ["record", "kafka", "--segments", str(LOGS / f"4.4.0-tv{level}"), "--out", str(out)]
    assert main(words) == 0
    assert capsys.readouterr().out == f"recorded 2 histories, 32 events in {out}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recording"]
    spec = str(ROOT / "models" / "kafka" / "conform_kafka.fence")
    assert main(["conform", spec, "--check", "r4_4_0", str(out)]) == 0
    assert main(words) == 151
    assert "it is not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "one of --bootstrap and --segments"),
        (("--segments", "here", "--bootstrap", "x:1"), "one of --bootstrap and --segments"),
        (("--bootstrap", "x:1"), "--topics says which partitions are read"),
        (("--segments", "nowhere"), "nowhere: No such file"),
        (("--segments", "."), "has no log of transactions"),
        (("--segments", "{logs}", "--topics", "tt"), "has no topic tt"),
        (("--segments", "damaged"), "00.log: the batch at byte 0 has format 0; known is 2"),
        (
            ("--bootstrap", "x:1", "--topics", "t", "--config", "bad"),
            "bad:2: this is not a setting",
        ),
    ],
)
def test_arguments_that_are_refused(
    words: tuple[str, ...],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged" / LOG).mkdir(parents=True)
    (tmp_path / "damaged" / LOG / "00.log").write_bytes(b"\1" * 16 + b"\0" * 60)
    (tmp_path / "bad").write_text("security.protocol=SSL\nbootstrap.servers=y:1\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    full = [word.format(logs=LOGS / "4.4.0-tv2") for word in words]
    assert main(["record", "kafka", "--out", "out", *full]) == 151
    assert why in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_file_that_ends_inside_a_batch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster()
    cluster.writes("a", 1, 0, EMPTY)
    (tmp_path / LOG).mkdir()
    file = tmp_path / LOG / "00.log"
    file.write_bytes(cluster.transactions[0] + cluster.transactions[0][:70])
    words = ["record", "kafka", "--segments", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert f"{file} ends inside a batch, which is omitted" in printed.err
    assert printed.out.startswith("recorded 1 history, 1 event in ")


def test_without_the_client_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec

    def without(name: str) -> ModuleSpec | None:
        return None if name == "kafka" else find(name)

    monkeypatch.setattr("fencepost.checker.cli.record.find_spec", without)
    out = str(tmp_path / "out")
    assert main(["record", "kafka", "--bootstrap", "x:1", "--topics", "t", "--out", out]) == 151
    wanted = "a running cluster is read by kafka-python; pip install 'fencepost[kafka]'"
    assert wanted in capsys.readouterr().err


def test_driving_without_the_client_library(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(name: str) -> None:
        assert name == "kafka"

    monkeypatch.setattr("fencepost.checker.systems.kafka.brokers.find_spec", without)
    assert (
        main(["drive", "kafka/conform_answers_v2", "--check", "r4_4_0", "--system", "kafka"]) == 151
    )
    assert "a broker is asked by kafka-python; pip install" in capsys.readouterr().err


DRIVE = ("drive", "kafka/conform_answers_v2", "--check", "r4_4_0", "--system", "kafka", "--option")


@pytest.mark.parametrize("command", ["record", "drive"])
def test_an_unreachable_cluster(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as silent:
        # The socket is bound but does not listen, so that no other process can take the port.
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        words = {
            "record": ("record", "kafka", "--bootstrap", address, "--topics", "t", "--out"),
            "drive": (*DRIVE, f"bootstrap={address}", "--record"),
        }
        assert main([*words[command], str(tmp_path / "out")]) == 151
    assert f"{address}: Connection refused" in capsys.readouterr().err


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("command", ["record", "drive"])
def test_a_broker_that_does_not_answer(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel accepts connections on behalf of the broker."""
    for module in (cluster, nodes):
        monkeypatch.setattr(module, "GREETING", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words = {
            "record": ("record", "kafka", "--bootstrap", address, "--topics", "t", "--out"),
            "drive": (*DRIVE, f"bootstrap={address}", "--record"),
        }
        assert main([*words[command], str(tmp_path / "out")]) == 151
    message = capsys.readouterr().err
    assert f"{address} has not answered within 1 s: is the broker stopped?" in message


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        pytest.param("::1", marks=pytest.mark.skipif(not _has_ipv6(), reason="no IPv6 here")),
    ],
)
def test_a_server_of_another_protocol(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        shown = f"[{host}]" if ":" in host else host
        address = f"{shown}:{server.getsockname()[1]}"

        def answer() -> None:
            with server.accept()[0] as asked:
                asked.recv(1)
                asked.sendall(b"HTTP/1.1 400 Bad Request")

        other = threading.Thread(target=answer, daemon=True)
        other.start()
        assert main([*DRIVE, f"bootstrap={address}"]) == 151
        other.join(30)
    assert f"{address}: the server there is not a Kafka broker" in capsys.readouterr().err


def feature(name: str, level: int) -> bytes:
    """Returns a FeatureLevelRecord of the cluster's metadata."""
    named = by_hand.unsigned(len(name) + 1) + name.encode()
    value = by_hand.unsigned(1) + by_hand.unsigned(12) + by_hand.unsigned(0) + named
    return by_hand.record(0, None, value + struct.pack(">h", level) + by_hand.unsigned(0))


def test_levels_that_are_absent_topics_and_hashed_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Changes of transaction.version are lines of every history. No payload is recorded."""
    folder = tmp_path / "data"
    for source in (LOG, "t-0", "__cluster_metadata-0"):
        (folder / source).mkdir(parents=True)
    cluster = Cluster()
    cluster.writes("customer", 1, 0, EMPTY)
    cluster.writes("customer", 1, 0, ONGOING)
    (folder / LOG / "00.log").write_bytes(b"".join(cluster.transactions))
    data = by_hand.data(0, 1, 0, 0)
    assert b"payload" in data
    (folder / "t-0" / "00.log").write_bytes(data)
    topic = by_hand.record(0, None, by_hand.unsigned(1) + by_hand.unsigned(2) + b"\0\1t")
    metadata = [
        feature("transaction.version", 1), feature("group.version", 1), topic,
        feature("transaction.version", 1), feature("transaction.version", 2),
    ]  # fmt: skip
    log = b"".join(by_hand.batch(n, [written]) for n, written in enumerate(metadata))
    (folder / "__cluster_metadata-0" / "00.log").write_bytes(log)
    words = ["record", "kafka", "--segments", str(folder), "--topics", "t,__consumer_offsets"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    absent = "there is no topic __consumer_offsets, so nothing of it is recorded"
    assert absent in capsys.readouterr().err
    levels = tmp_path / "a" / "__cluster_metadata-0.jsonl"
    lines = [json.loads(line) for line in levels.read_text().splitlines()]
    assert [(line["id"], line["kind"], line["level"]) for line in lines] == [
        ("customer", "LEVEL", "TV1"), ("customer", "CHANGED", "TV2"),
    ]  # fmt: skip
    assert main([*words, "--out", str(tmp_path / "b"), "--hash-ids", "--levels", "2"]) == 0
    recorded = "".join(path.read_text() for path in sorted((tmp_path / "b").iterdir()))
    assert "customer" not in recorded
    assert "payload" not in recorded
    assert '"level": "TV2"' in recorded
    assert main([*words, "--out", str(tmp_path / "c"), "--levels", "3"]) == 151
