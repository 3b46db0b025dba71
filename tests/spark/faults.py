"""Tasks that go wrong once, to be put in the place of those that do not.

Each takes the file that it makes when it has gone wrong, and the level in which it does.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.checker.spark import graph_rows, tasks
from fencepost.checker.spark.conform import tasks as judging
from fencepost.checker.spark.graph_rows import Row
from fencepost.spec.core.ir import Model

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast

    from fencepost.checker.spark.records import Order
    from fencepost.checker.spark.tasks import Accounts, Shipped


def once(done: Path) -> bool:
    """Whether nothing has gone wrong yet; now it has."""
    try:
        done.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fails_when_merged(
    done: Path,
    level: int,
    shipped: Shipped,
    order: Order,
    accounts: Accounts,
    partition: int,
    given: Iterable[bytes],
) -> Iterator[bytes]:
    """Merges, puts the table back, and fails then."""
    yield from tasks.merge(shipped, order, accounts, partition, given)
    if order.level == level and once(done):
        raise RuntimeError("failed after merging")


def always_fails(
    shipped: Shipped, order: Order, accounts: Accounts, partition: int, given: Iterable[bytes]
) -> Iterator[bytes]:
    """No attempt succeeds."""
    yield from tasks.merge(shipped, order, accounts, partition, given)
    raise RuntimeError("there is no luck")


def dies_while_merging(
    done: Path,
    level: int,
    shipped: Shipped,
    order: Order,
    accounts: Accounts,
    partition: int,
    given: Iterable[bytes],
) -> Iterator[bytes]:
    """The process ends in the middle of merging."""

    def some() -> Iterator[bytes]:
        for number, data in enumerate(given):
            yield data
            if number and order.level == level and once(done):
                os._exit(1)

    yield from tasks.merge(shipped, order, accounts, partition, some())


def reads_less(
    done: Path,
    level: int,
    shipped: Shipped,
    order: Order,
    accounts: Accounts,
    partition: int,
    given: Iterable[bytes],
) -> Iterator[bytes]:
    """What the task is given ends early, as it does where Spark gives a task up."""
    all_ = list(given)
    if order.level == level and once(done):
        all_ = all_[:-1]
    yield from tasks.merge(shipped, order, accounts, partition, all_)


def kills_its_executor(
    done: Path, level: int, shipped: Shipped, order: Order, partition: int, given: Iterable[bytes]
) -> Iterator[bytes]:
    """The executor is killed while a level is expanded."""
    if order.level == level and once(done):
        # This process comes from a daemon, and that from the executor.
        os.kill(parent(os.getppid()), signal.SIGKILL)
    yield from tasks.expand(shipped, order, partition, given)


def is_slow(
    done: Path,
    level: int,
    shipped: Shipped,
    order: Order,
    accounts: Accounts,
    partition: int,
    given: Iterable[bytes],
) -> Iterator[bytes]:
    """One task of each level waits when it has its table, so that it is run a second time."""
    merged = tasks.merge(shipped, order, accounts, partition, given)
    slow = partition == 0 and once(done.with_name(f"{done.name}-{order.level}"))
    for number, data in enumerate(merged):
        if slow and number == 0:
            time.sleep(1.0)
        yield data


def parent(process: int) -> int:
    """The number of the process that a process comes from."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return int(stat.rpartition(")")[2].split()[1])


def origin(_: object) -> str:
    """Where an executor has the engine from."""
    return str(tasks.__file__)


def no_rows(shipped: object, extent: object, given: Iterable[bytes]) -> Iterator[Row]:
    """Nothing can be saved."""
    raise RuntimeError("there are no rows")


def kills_its_executor_while_saving(
    done: Path, shipped: Broadcast[Model], extent: graph_rows.Extent, given: Iterable[bytes]
) -> Iterator[Row]:
    """The executor is killed while the state graph is written."""
    if once(done):
        os.kill(parent(os.getppid()), signal.SIGKILL)
    yield from graph_rows.transitions(shipped, extent, given)


def kills_its_executor_judging(
    done: Path, shipped: Broadcast[judging.Task], given: Iterable[Row]
) -> Iterator[Row]:
    """The executor is killed when some histories are judged."""
    for row in judging.judged(shipped, given):
        yield row
        if once(done):
            os.kill(parent(os.getppid()), signal.SIGKILL)
