"""Starts real brokers on this machine: KRaft nodes from jars that Maven downloads."""

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

from fencepost.checker.systems.kafka import requests
from fencepost.checker.systems.kafka.cluster import Unreachable
from fencepost.checker.systems.kafka.requests import Connection, create_topic, find_coordinator

POM = ROOT / "tests" / "live" / "pom.xml"
JARS = Path(os.environ.get("FENCEPOST_JARS", Path.home() / ".cache" / "fencepost" / "kafka"))
"""Contains a folder for each release that has been needed so far."""
RELEASE = "4.4.0"
HOST = "127.0.0.1"
CONTROLLER = "controller"
PATIENCE = 150.0
"""The timeout in seconds for starting a broker or for a request, even on a busy machine."""
_CLUSTER = "Zm9v0000000000000000AA"
_FEATURE = "transaction.version"
_taken: set[int] = set()


def jars(release: str) -> Path:
    """Returns the folder with the jars of a release, which Maven downloads if necessary."""
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
    """Returns an unused port below the range of ports for outgoing connections.

    An outgoing connection could take a port in that range before the broker does.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        if port in _taken:
            continue
        _taken.add(port)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
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
"""Restarts a program whenever it is killed, as a broker's service manager usually does."""


class Broker:
    """A node: a broker with a controller, or a second broker if ``controller`` is the first
    broker's port.

    A ``supervised`` broker is restarted when something kills it, for example the command
    `killed_by`. ``hosts`` is a file that contains the address of the controller under the name
    `CONTROLLER`, so that two brokers can reach the controller through different addresses.
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
        """Starts the process, unless it is running, and waits until the broker accepts requests."""
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
        # A dying process may still accept a connection without answering.
        try:
            with closing(Connection(HOST, self.port)) as connection:
                connection.ask(requests.features())
        except Unreachable:
            return False
        return True

    @property
    def _pid(self) -> Path:
        return self.folder / "pid"

    @property
    def killed_by(self) -> str:
        """Returns a command that kills the broker, which is then restarted."""
        assert self._supervised
        return f"kill -KILL $(cat '{self._pid}')"

    def signalled_by(self, name: str) -> str:
        """Returns a command that sends a signal (STOP, CONT) to the process."""
        assert self._process is not None
        assert not self._supervised
        return f"kill -{name} {self._process.pid}"

    def kill(self) -> None:
        """Kills the process; a supervised broker is running again on return."""
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
        """Ends the process in any state."""
        for connection in self._connections:
            connection.close()
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()

    def connection(self) -> Connection:
        """Opens a connection that is closed when the broker stops."""
        self._connections.append(Connection(HOST, self.port))
        return self._connections[-1]


@contextmanager
def running(*brokers: Broker) -> Generator[None]:
    """Runs brokers within the block, and deletes their data afterwards."""
    try:
        for broker in brokers:
            broker.start()
        yield
    finally:
        for broker in reversed(brokers):
            broker.stop()


def removed(broker: Broker) -> None:
    shutil.rmtree(broker.folder)


def until(done: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, f"not within {PATIENCE:.0f} s: {done}"
        time.sleep(0.02)


def accepted(connection: Connection, request: Callable[[], Any]) -> Any:
    """Repeats a request until the answer has no error, since a cluster that has just started
    refuses requests.
    """
    answers: list[Any] = []

    def is_accepted() -> bool:
        answers.append(connection.ask(request()))
        return connection.error(answers[-1]) == "NONE"

    until(is_accepted)
    return answers[-1]


@contextmanager
def with_level(broker: Broker, level: int) -> Generator[None]:
    """Sets ``transaction.version`` within the block."""
    connection = broker.connection()

    def present() -> int:
        levels = connection.ask(requests.features()).finalized_features
        return int(
            next(feature.max_version_level for feature in levels if feature.name == _FEATURE)
        )

    def change(wanted: int) -> None:
        before = present()
        if before != wanted:
            accepted(connection, lambda: requests.set_feature(_FEATURE, wanted, wanted < before))
            until(lambda: present() == wanted)

    before = present()
    change(level)
    try:
        yield
    finally:
        change(before)


def prepared(broker: Broker, topic: str = "t", partitions: int = 2) -> Connection:
    """Returns a connection to a broker that has a topic and a coordinator of transactions."""
    connection = broker.connection()
    where = [[1]] * partitions
    accepted(connection, lambda: create_topic(topic, where))
    accepted(connection, lambda: find_coordinator("any"))
    return connection


if __name__ == "__main__":
    # Downloads the files that the tests need from Maven's repository, release by release. Exit code
    # 3 means that Maven cannot download them.
    for wanted in sys.argv[1:]:
        try:
            print(jars(wanted))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
            print(failed, file=sys.stderr)
            sys.exit(3)
