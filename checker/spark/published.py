"""Tables that appear whole or not at all: written beside their place, and moved there at the end.

It does not know what the tables hold.
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
"""How the name of a folder begins that is being written: Spark passes by what begins so."""


class Place:
    """The folder ``name`` in the folder ``url``, which must not be there, or be empty; for tables
    of ``what``. Raises `Rejected`.
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
                "it is there already, and not empty",
                "move it away, or name another",
            )

    @property
    def url(self) -> str:
        """Where the tables will be."""
        return self._target.url

    def at(self, name: str) -> str:
        """Where a table is to be written."""
        return self._temporary.at(name)

    def publish(self) -> None:
        """Moves the tables, which are whole, to their place."""
        try:
            if self._empty is not None:
                self._target.delete()
            self._temporary.move(self._target)
        except Refused as refused:
            raise unusable(self._what, self._target.url, str(refused)) from None

    def discard(self) -> None:
        """Removes what was not moved to its place, as far as it can be reached."""
        with suppress(Refused, *ERRORS):
            if self._temporary.names() is None:
                return
            # What still runs would make the folder anew.
            until = time.monotonic() + PATIENCE_SECONDS
            while running(self._spark) and time.monotonic() < until:
                time.sleep(LOOK_SECONDS)
            self._temporary.delete()


def unusable(what: str, url: str, reason: str, *notes: str) -> Rejected:
    """The folder cannot be used."""
    said = f"{what} cannot be saved in {url}: {reason}"
    return Rejected([Problem("F036", None, said, tuple((None, note) for note in notes))])
