"""Publishes tables atomically: they are written to a temporary folder, which is renamed at the
end.
"""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from fencepost.checker.spark.blocks import ERRORS, running
from fencepost.checker.spark.hadoop import Folder, Refused
from fencepost.spec.text.problem import Problem, Rejected

if TYPE_CHECKING:
    from pyspark import SparkContext

LOOK_SECONDS, PATIENCE_SECONDS = 0.1, 10.0
INCOMPLETE = "_incomplete-"
"""The prefix of unfinished folders; Spark ignores names that start with an underscore."""


class Place:
    """The folder ``name`` in ``url``, as the destination for tables of ``what``. The folder must
    not exist or must be empty; otherwise raises `Rejected`.
    """

    def __init__(self, spark: SparkContext, what: str, url: str, name: str) -> None:
        self._spark = spark
        self._what = what
        try:
            folder = Folder(spark, url)
            self._target = Folder(spark, folder.at(name))
            self._empty = self._target.names()
        except Refused as refused:
            raise unusable(what, url, str(refused)) from None
        self._temporary = Folder(spark, folder.at(f"{INCOMPLETE}{name}-{uuid.uuid4().hex}"))
        if self._empty:
            raise unusable(
                what,
                self._target.url,
                "it already exists and is not empty",
                "move it away, or choose another folder",
            )

    @property
    def url(self) -> str:
        """The final URL of the tables."""
        return self._target.url

    def at(self, name: str) -> str:
        """Returns the temporary URL of a table."""
        return self._temporary.at(name)

    def publish(self) -> None:
        """Moves the finished tables to their final URL."""
        try:
            if self._empty is not None:
                self._target.delete()
            self._temporary.move(self._target)
        except Refused as refused:
            raise unusable(self._what, self._target.url, str(refused)) from None

    def discard(self) -> None:
        """Removes the temporary folder, if it can be reached."""
        with suppress(Refused, *ERRORS):
            if self._temporary.names() is None:
                return
            # Running tasks would create the folder again.
            until = time.monotonic() + PATIENCE_SECONDS
            while running(self._spark) and time.monotonic() < until:
                time.sleep(LOOK_SECONDS)
            self._temporary.delete()


def unusable(what: str, url: str, reason: str, *notes: str) -> Rejected:
    """Returns the problem to report for a folder that cannot be used."""
    message = f"{what} cannot be saved in {url}: {reason}"
    return Rejected([Problem("F036", None, message, tuple((None, note) for note in notes))])
