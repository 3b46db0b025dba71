"""Executes the commands of the page.

A request is a JSON object such as ``{"do": "take", "at": 3, "number": 2}``. ``at`` is the number of
the view that the request refers to. Because of this number, a second window cannot act on a state
that its user does not see.
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

MAX_TEXT = 10_000
"""Maximum number of characters in an expression."""
MAX_WATCHED = 50
MOVED = "the walk was continued in another window"


class Malformed(Exception):
    """Raised for a request that the page would not send."""


class Desk:
    """Wraps an exploration so that several threads can use it."""

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
        """Returns the initial page."""
        with self._lock:
            return explorer_page(self._exploration, self._at)

    def trace(self) -> str | None:
        """Returns the current path as a trace file, or None if the path is empty."""
        with self._lock:
            begun = bool(self._exploration.walk.path)
            return dumps(self._exploration.document()) if begun else None

    def stop(self) -> None:
        """Stops the search that is running."""
        self._exploration.stop()

    def answer(self, body: bytes) -> str:
        """Executes a request and returns the response. Raises `Malformed`."""
        request = _object(body)
        verb = request.get("do")
        if verb == "stop":
            # The running search holds the lock, so it must be stopped without the lock.
            self.stop()
            return "{}"
        if not isinstance(verb, str) or verb not in self._verbs:
            raise Malformed
        with self._lock:
            message = MOVED
            if _number(request, "at") == self._at:
                try:
                    message = self._verbs[verb](request)
                except Rejected as rejected:
                    message = "\n\n".join(str(problem) for problem in rejected.problems)
                except Stopped:
                    message = "the search was stopped"
                self._at += 1
            return json.dumps(view(self._exploration, self._at, message), separators=(",", ":"))

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
        destination = self._exploration.goto(_words(request))
        return self._exploration.sought(destination)

    def _watch(self, request: dict[str, Json]) -> str:
        if len(self._exploration.watched) >= MAX_WATCHED:
            return f"at most {MAX_WATCHED} expressions are watched"
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
        value = cast(Json, json.loads(body.decode("utf-8")))
    except (ValueError, RecursionError):
        raise Malformed from None
    if not isinstance(value, dict):
        raise Malformed
    return value


def _number(request: dict[str, Json], name: str) -> int:
    """Reads a nonnegative number from a request."""
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Malformed
    return value


def _words(request: dict[str, Json]) -> str:
    """Reads an expression from a request and puts it on one line."""
    value = request.get("text")
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise Malformed
    return " ".join(value.split())
