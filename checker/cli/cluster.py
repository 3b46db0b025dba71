"""The options of `fencepost check` that concern a cluster, taken together as one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import click

from fencepost.checker.cli.options import at_least, setting
from fencepost.checker.request import MOST_PARTITIONS, Cluster

P = ParamSpec("P")
R = TypeVar("R")

OPTIONS = (
    click.option("--master", metavar="URL", help="Spark: the cluster (default: local[*])."),
    click.option(
        "--partitions",
        metavar="N",
        type=at_least(1, MOST_PARTITIONS),
        help="Spark: spread the states over N partitions.",
    ),
    click.option(
        "--spark-conf",
        "settings",
        metavar="K=V",
        multiple=True,
        type=setting,
        help="Spark: a setting of Spark.",
    ),
    click.option("--checkpoint", metavar="DIR", help="Spark: save the search in DIR now and then."),
    click.option("--resume", metavar="DIR", help="Spark: go on with the search saved in DIR."),
    click.option(
        "--save-states", "states", metavar="DIR", help="Spark: save the state graph in DIR."
    ),
    click.option(
        "--ship-package", "ship", is_flag=True, help="Spark: give executors Fencepost itself."
    ),
)


def cluster_options(command: Callable[Concatenate[Cluster | None, P], R]) -> Callable[..., R]:
    """Gives a command these options; its first argument is what they say, None if nothing."""

    @wraps(command)
    def wrapped(
        master: str | None,
        partitions: int | None,
        settings: tuple[tuple[str, str], ...],
        checkpoint: str | None,
        resume: str | None,
        states: str | None,
        ship: bool,
        *args: P.args,
        **others: P.kwargs,
    ) -> R:
        if checkpoint is not None and resume is not None:
            raise click.UsageError("--resume DIR saves it in DIR, too; leave out --checkpoint")
        cluster = Cluster(
            master,
            partitions,
            settings,
            checkpoint=checkpoint,
            resume=resume,
            states=states,
            ship=ship,
        )
        return command(None if cluster == Cluster() else cluster, *args, **others)

    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped
