"""The words of the page: what a request asks of the exploration, and the answer.

A request is one JSON object: ``{"do": "take", "at": 3, "number": 2}``. ``at`` is the number of the
view that it is about, so that a second window cannot take a step that its user does not see.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Lock
from typing import cast

from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.explorer import explorer_page, view
from fencepost.checker.tools.exploration import Exploration, Stopped
from fencepost.checker.trace.itf import dumps
from fencepost.spec.text.problem import Rejected

MOST_TEXT = 10_000
"""The characters of an expression."""
MOST_WATCHED = 50
MOVED = "the walk has moved on in another window"


class Malformed(Exception):
    """A request that the page does not send."""


class Desk:
    """An exploration that several threads may speak to, one after the other."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._lock = Lock()
        self._at = 0
        self._verbs: dict[str, Callable[[dict[str, Json]], str]] = {
            "take": self._take,
            "back": self._back,
            "go": self._go,
            "goto": self._goto,
            "watch": self._watch,
            "unwatch": self._unwatch,
        }

    def page(self) -> str:
        """The page, as it is sent first."""
        with self._lock:
            return explorer_page(self._exploration, self._at)

    def trace(self) -> str | None:
        """The way so far as a trace file; None where there is none yet."""
        with self._lock:
            begun = bool(self._exploration.walk.path)
            return dumps(self._exploration.document()) if begun else None

    def stop(self) -> None:
        """Gives up the search that is under way."""
        self._exploration.stop()

    def answer(self, body: bytes) -> str:
        """What is to be sent in answer to a request; raises `Malformed`."""
        request = _object(body)
        verb = request.get("do")
        if verb == "stop":
            # Not behind the lock, which is what it is to free.
            self.stop()
            return "{}"
        if not isinstance(verb, str) or verb not in self._verbs:
            raise Malformed
        with self._lock:
            said = MOVED
            if _number(request, "at") == self._at:
                try:
                    said = self._verbs[verb](request)
                except Rejected as rejected:
                    said = "\n\n".join(str(problem) for problem in rejected.problems)
                except Stopped:
                    said = "the search was stopped"
                self._at += 1
            return json.dumps(view(self._exploration, self._at, said), separators=(",", ":"))

    def _take(self, request: dict[str, Json]) -> str:
        number = _number(request, "number")
        if not 1 <= number <= len(self._exploration.options):
            raise Malformed
        self._exploration.take(number)
        return ""

    def _back(self, request: dict[str, Json]) -> str:
        return "" if self._exploration.back(_number(request, "count")) else "this is the start"

    def _go(self, request: dict[str, Json]) -> str:
        way, steps = _number(request, "way"), _number(request, "steps")
        ways = self._exploration.walk.ways
        if way >= len(ways) or steps > len(ways[way]):
            raise Malformed
        self._exploration.go(way, steps)
        return ""

    def _goto(self, request: dict[str, Json]) -> str:
        found = self._exploration.goto(_words(request))
        return self._exploration.sought(found)

    def _watch(self, request: dict[str, Json]) -> str:
        if len(self._exploration.watched) >= MOST_WATCHED:
            return f"at most {MOST_WATCHED} expressions are watched"
        self._exploration.watch(_words(request))
        return ""

    def _unwatch(self, request: dict[str, Json]) -> str:
        number = _number(request, "number")
        if number >= len(self._exploration.watched):
            raise Malformed
        self._exploration.unwatch(number)
        return ""


def _object(body: bytes) -> dict[str, Json]:
    try:
        read = cast(Json, json.loads(body.decode("utf-8")))
    except (ValueError, RecursionError):
        raise Malformed from None
    if not isinstance(read, dict):
        raise Malformed
    return read


def _number(request: dict[str, Json], name: str) -> int:
    """A number from 0 on."""
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Malformed
    return value


def _words(request: dict[str, Json]) -> str:
    """The text of an expression, on one line."""
    value = request.get("text")
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise Malformed
    return " ".join(value.split())
