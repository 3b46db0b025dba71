"""Task functions that fail once, as replacements for the real ones.

Each function takes a file, which it creates when it fails, and the level at which it fails.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.checker.spark import graph_rows, tasks
from fencepost.checker.spark.graph_rows import Row
from fencepost.checker.systems.spark import tasks as judging
from fencepost.spec.core.ir import Model

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast

    from fencepost.checker.spark.records import Order
    from fencepost.checker.spark.tasks import Accounts, Shipped


def once(done: Path) -> bool:
    """Checks whether this is the first call with this file, and creates the file."""
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
    blobs: Iterable[bytes],
) -> Iterator[bytes]:
    """Merges, puts the table back, and then fails at the given level."""
    yield from tasks.merge(shipped, order, accounts, partition, blobs)
    if order.level == level and once(done):
        raise RuntimeError("failed after merging")


def always_fails(
    shipped: Shipped, order: Order, accounts: Accounts, partition: int, blobs: Iterable[bytes]
) -> Iterator[bytes]:
    """Fails in every attempt."""
    yield from tasks.merge(shipped, order, accounts, partition, blobs)
    raise RuntimeError("there is no luck")


def dies_while_merging(
    done: Path,
    level: int,
    shipped: Shipped,
    order: Order,
    accounts: Accounts,
    partition: int,
    blobs: Iterable[bytes],
) -> Iterator[bytes]:
    """Ends the process in the middle of merging."""

    def interrupted_input() -> Iterator[bytes]:
        for number, data in enumerate(blobs):
            yield data
            if number and order.level == level and once(done):
                os._exit(1)

    yield from tasks.merge(shipped, order, accounts, partition, interrupted_input())


def reads_less(
    done: Path,
    level: int,
    shipped: Shipped,
    order: Order,
    accounts: Accounts,
    partition: int,
    blobs: Iterable[bytes],
) -> Iterator[bytes]:
    """Ends the input of the task early, as if Spark had aborted the task."""
    all_blobs = list(blobs)
    if order.level == level and once(done):
        all_blobs = all_blobs[:-1]
    yield from tasks.merge(shipped, order, accounts, partition, all_blobs)


def kills_its_executor(
    done: Path, level: int, shipped: Shipped, order: Order, partition: int, blobs: Iterable[bytes]
) -> Iterator[bytes]:
    """Kills the executor while a level is expanded."""
    if order.level == level and once(done):
        # The parent of this process is a daemon, whose parent is the executor.
        os.kill(parent(os.getppid()), signal.SIGKILL)
    yield from tasks.expand(shipped, order, partition, blobs)


def is_slow(
    done: Path,
    level: int,
    shipped: Shipped,
    order: Order,
    accounts: Accounts,
    partition: int,
    blobs: Iterable[bytes],
) -> Iterator[bytes]:
    """Makes one task of each level wait after taking its table, so that a second attempt starts."""
    merged = tasks.merge(shipped, order, accounts, partition, blobs)
    slow = partition == 0 and once(done.with_name(f"{done.name}-{order.level}"))
    for number, data in enumerate(merged):
        if slow and number == 0:
            time.sleep(1.0)
        yield data


def parent(process: int) -> int:
    """Returns the id of the parent of a process."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return int(stat.rpartition(")")[2].split()[1])


def origin(_: object) -> str:
    """Returns the source file of the engine on an executor."""
    return str(tasks.__file__)


def no_rows(shipped: object, extent: object, blobs: Iterable[bytes]) -> Iterator[Row]:
    """Fails instead of saving."""
    raise RuntimeError("there are no rows")


def kills_its_executor_while_saving(
    done: Path, shipped: Broadcast[Model], extent: graph_rows.Extent, blobs: Iterable[bytes]
) -> Iterator[Row]:
    """Kills the executor while the state graph is written."""
    if once(done):
        os.kill(parent(os.getppid()), signal.SIGKILL)
    yield from graph_rows.transitions(shipped, extent, blobs)


def kills_its_executor_judging(
    done: Path, shipped: Broadcast[judging.Task], rows: Iterable[Row]
) -> Iterator[Row]:
    """Kills the executor after it has judged some histories."""
    for row in judging.judged(shipped, rows):
        yield row
        if once(done):
            os.kill(parent(os.getppid()), signal.SIGKILL)
