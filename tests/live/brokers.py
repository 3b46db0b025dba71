"""Real brokers on this machine, from the jars that Maven brings: KRaft nodes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT

from fencepost.checker.kafka import requests
from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.requests import Connection, create_topic, find_coordinator

POM = ROOT / "tests" / "live" / "pom.xml"
JARS = Path(os.environ.get("FENCEPOST_JARS", Path.home() / ".cache" / "fencepost" / "kafka"))
"""A folder for each release that was wanted so far."""
RELEASE = "4.4.0"
HOST = "127.0.0.1"
CONTROLLER = "controller"
PATIENCE = 150.0
"""Seconds in which a broker has to be there, or to do what it was asked for, on a busy machine too.
"""
_CLUSTER = "Zm9v0000000000000000AA"
_FEATURE = "transaction.version"
_taken: set[int] = set()


def jars(release: str) -> Path:
    """The folder with the jars of a release; Maven brings them if need be."""
    folder = JARS / release
    if not folder.is_dir():
        partial = JARS / f".{release}.{os.getpid()}"
        subprocess.run(
            [
                "mvn", "--quiet", "--batch-mode", "--file", str(POM), f"-Dkafka={release}",
                f"-DoutputDirectory={partial}", "dependency:copy-dependencies",
            ],
            check=True, stdin=subprocess.DEVNULL, timeout=270,
        )  # fmt: skip
        partial.rename(folder)
    return folder


def free_port() -> int:
    """A port that nobody has, below those that a system gives to outgoing connections, which might
    take it before the broker does.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        if port in _taken:
            continue
        _taken.add(port)
        with socket.socket() as one:
            try:
                one.bind((HOST, port))
            except OSError:
                continue
            return port


_SUPERVISOR = """
pid=$1; shift
trap 'kill -KILL "$child"; exit' TERM
while :; do
    "$@" & child=$!
    echo "$child" >"$pid.new"; mv "$pid.new" "$pid"
    wait "$child"
done
"""
"""Starts a program again whenever it is killed, as what runs a broker usually does."""


class Broker:
    """A node: broker and controller, or (``controller``: its port) a second broker.

    One that is ``supervised`` is started again when something kills it; `killed_by` says how.
    ``hosts`` is a file in which it finds the address of the controller, which is called
    `CONTROLLER` then: so two brokers may reach it by different ways.
    """

    def __init__(
        self,
        release: str,
        folder: Path,
        level: int = 2,
        number: int = 1,
        controller: int | None = None,
        settings: Mapping[str, str] = {},
        supervised: bool = False,
        hosts: Path | None = None,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.controller = controller or free_port()
        self._java = [
            "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            *([f"-Djdk.net.hosts.file={hosts}"] if hosts else []), "-cp", f"{jars(release)}/*",
        ]  # fmt: skip
        self._supervised = supervised
        self._process: subprocess.Popen[bytes] | None = None
        self._connections: list[Connection] = []
        own = f"PLAINTEXT://{HOST}:{self.port}"
        named = f"{CONTROLLER if hosts else HOST}:{self.controller}"
        every = {
            "process.roles": "broker,controller" if controller is None else "broker",
            "node.id": f"{number}",
            "controller.quorum.voters": f"1@{named}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": own if controller else f"{own},CONTROLLER://{HOST}:{self.controller}",
            "advertised.listeners": f"{own},CONTROLLER://{named}"
            if hosts and not controller
            else own,
            "log.dirs": str(self.data),
            "num.partitions": "2",
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "group.initial.rebalance.delay.ms": "0",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "300",
            **settings,
        }
        folder.mkdir(parents=True)
        self._properties = folder / "server.properties"
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in every.items()))
        level_of = ["--feature", f"transaction.version={level}"]
        formatted = [*self._java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER]
        subprocess.run(
            [*formatted, "-c", str(self._properties), *level_of],
            check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE,
        )  # fmt: skip

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Starts the process, if it does not run, and waits until it takes requests."""
        if self._process is not None and self._process.poll() is None:
            return
        with (self.folder / "broker.log").open("ab") as log:
            supervisor = ["bash", "-c", _SUPERVISOR, "supervisor", str(self._pid)]
            self._process = subprocess.Popen(
                [
                    *(supervisor if self._supervised else ()), *self._java, "kafka.Kafka",
                    str(self._properties),
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "broker.log").read_text()[-3000:]
        # A process that is being killed may still accept a connection, and answers nothing.
        try:
            with closing(Connection(HOST, self.port)) as one:
                one.ask(requests.features())
        except Unreachable:
            return False
        return True

    @property
    def _pid(self) -> Path:
        return self.folder / "pid"

    @property
    def killed_by(self) -> str:
        """A command that kills the broker, which is then started again."""
        assert self._supervised
        return f"kill -KILL $(cat '{self._pid}')"

    def signalled_by(self, name: str) -> str:
        """A command that sends the process a signal: STOP, CONT."""
        assert self._process is not None
        assert not self._supervised
        return f"kill -{name} {self._process.pid}"

    def kill(self) -> None:
        """Kills the process. One that is supervised is there again when this is done."""
        assert self._process is not None
        if not self._supervised:
            self._process.kill()
            self._process.wait()
            return
        watched = Connection(HOST, self.port)
        subprocess.run(self.killed_by, shell=True, check=True)
        until(watched.is_closed)
        watched.close()
        until(self._answers)

    def stop(self) -> None:
        """Ends the process, whatever it is doing."""
        for one in self._connections:
            one.close()
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()

    def connection(self) -> Connection:
        """A connection, which is closed when the broker is stopped."""
        self._connections.append(Connection(HOST, self.port))
        return self._connections[-1]


@contextmanager
def running(*brokers: Broker) -> Generator[None]:
    """Brokers that are over when the block is, with their data."""
    try:
        for one in brokers:
            one.start()
        yield
    finally:
        for one in reversed(brokers):
            one.stop()


def removed(broker: Broker) -> None:
    shutil.rmtree(broker.folder)


def until(done: Callable[[], bool]) -> None:
    """Waits until something holds."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, f"not within {PATIENCE:.0f} s: {done}"
        time.sleep(0.02)


def accepted(connection: Connection, request: Callable[[], Any]) -> Any:
    """Asks until the answer has no error, as a cluster that has just started says "not yet"."""
    answers: list[Any] = []

    def asked() -> bool:
        answers.append(connection.ask(request()))
        return connection.error(answers[-1]) == "NONE"

    until(asked)
    return answers[-1]


@contextmanager
def with_level(broker: Broker, level: int) -> Generator[None]:
    """``transaction.version`` is this one inside."""
    connection = broker.connection()

    def found() -> int:
        levels = connection.ask(requests.features()).finalized_features
        return int(next(one.max_version_level for one in levels if one.name == _FEATURE))

    def change(wanted: int) -> None:
        before = found()
        if before != wanted:
            accepted(connection, lambda: requests.set_feature(_FEATURE, wanted, wanted < before))
            until(lambda: found() == wanted)

    before = found()
    change(level)
    try:
        yield
    finally:
        change(before)


def prepared(broker: Broker, topic: str = "t", partitions: int = 2) -> Connection:
    """A connection to a broker that has a topic, and a coordinator of transactions."""
    connection = broker.connection()
    where = [[1]] * partitions
    accepted(connection, lambda: create_topic(topic, where))
    accepted(connection, lambda: find_coordinator("any"))
    return connection


if __name__ == "__main__":
    # What the tests need of Maven's repository, release by release. Code 3: Maven cannot bring it.
    for wanted in sys.argv[1:]:
        try:
            print(jars(wanted))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
            print(failed, file=sys.stderr)
            sys.exit(3)
