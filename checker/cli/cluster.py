"""The options of `fencepost check` that concern a cluster, taken together as one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from fencepost.checker.cli.options import Unlisted, at_least, setting
from fencepost.checker.request import MOST_PARTITIONS, Cluster

P = ParamSpec("P")
R = TypeVar("R")


def _option(*names: str, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(*names, cls=Unlisted, **settings)


OPTIONS = (
    _option("--master", metavar="URL"),
    _option("--partitions", metavar="N", type=at_least(1, MOST_PARTITIONS)),
    _option("--spark-conf", "settings", metavar="K=V", multiple=True, type=setting),
    _option("--save-states", "states", metavar="DIR"),
    _option("--ship-package", "ship", is_flag=True),
)
NAMED = """\
Spark (docs/spark.md): --master URL, --partitions N, --spark-conf K=V, --save-states DIR,
--ship-package"""
"""The lines of the help that name these options."""


def cluster_options(command: Callable[Concatenate[Cluster | None, P], R]) -> Callable[..., R]:
    """Gives a command these options; its first argument is what they say, None if nothing."""

    @wraps(command)
    def wrapped(
        master: str | None,
        partitions: int | None,
        settings: tuple[tuple[str, str], ...],
        states: str | None,
        ship: bool,
        *args: P.args,
        **others: P.kwargs,
    ) -> R:
        cluster = Cluster(
            master,
            partitions,
            settings,
            states=states,
            ship=ship,
        )
        return command(None if cluster == Cluster() else cluster, *args, **others)

    made: Callable[..., R] = wrapped
    for option in reversed(OPTIONS):
        made = option(made)
    return made
