"""Drives a real system: sends histories of requests to it, and compares each answer with those that
the model allows.

A walk prefers requests that have rarely been sent. A history that is not allowed is shortened:
requests are omitted as long as the system still disagrees. Each attempt uses a new history.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from fencepost.checker.printing.json_values import Json
from fencepost.checker.systems.conform.fields import Unread
from fencepost.checker.systems.conform.lines import History, Line, Reader
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.drive.of_trace import requests_of
from fencepost.checker.systems.drive.possible import Possible, Source
from fencepost.checker.systems.drive.requests import Kind, Request, proposed
from fencepost.checker.systems.drive.system import GuardedSystem
from fencepost.checker.trace.document import TraceDocument
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Bool, Nominal, State
from fencepost.spec.text.problem import Problem, Rejected

CANDIDATES = 8
"""Number of candidates for the next request of a walk."""
TRIES = 4
"""Number of attempts to find candidates before a walk ends."""
MAX_RUNS = 200
"""Maximum number of histories that are spent on shortening one."""
REPEATED = 0.15
"""Probability that a candidate repeats an earlier request of the same history, as a duplicate or a
late request.
"""

Feature: TypeAlias = tuple[str, ...]
_NUMBER = re.compile(r"-?\d+")


@dataclass(slots=True)
class Episode:
    """A history: the requests that were sent, and the lines as in a recording.

    ``agreed`` is false if no state of the model allows the last answer or the lines observed with
    it. ``certain`` is false if a bound of the model prevents this from being a proof.
    """

    requests: list[Request] = field(default_factory=list[Request])
    lines: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    read: list[tuple[Source, Line]] = field(default_factory=list[tuple[Source, Line]])
    agreed: bool = True
    certain: bool = True

    def history(self, key: int) -> History:
        """Returns the history in the form that `conform` would read."""
        history = History(key)
        for source, line in self.read:
            history.sources.setdefault(source, []).append(line)
        return history


class Driver:
    """Drives one system. ``answers`` counts the answers for each request, and ``sent`` is the
    number of requests sent.
    """

    def __init__(
        self, mapped: MappedModel, system: GuardedSystem, kinds: Sequence[Kind], seed: int
    ) -> None:
        self.mapped = mapped
        self.possible = Possible(mapped)
        self.kinds = kinds
        self.answers: Counter[tuple[str, str]] = Counter()
        self.sent = 0
        self._system = system
        self._random = Random(seed)
        self._covered: Counter[Feature] = Counter()
        self._sources = [self._source(kind) for kind in kinds]
        self._situations: dict[State, str] = {}
        self._heard: list[Json] = []
        self._asked: list[Request] = []
        self._weights = [system.weight(kind.event.name) for kind in kinds]
        if not any(self._weights):
            raise Rejected([Problem("F852", None, "the system accepts no request of the spec")])

    # ------------------------------------------------------------ histories

    def walk(self, length: int, going_on: Callable[[], bool]) -> Episode:
        """Sends a history of at most ``length`` requests while ``going_on`` returns true. At least
        one request is sent if possible.
        """

        def chosen() -> Iterator[Request]:
            for number in range(length):
                request = self._chosen()
                if request is None or (number and not going_on()):
                    return
                yield request

        return self._run(chosen())

    def follow(self, document: TraceDocument) -> Episode:
        """Sends a history of the requests in a trace."""
        return self._run(requests_of(document, self.possible, self.kinds))

    def replay(self, requests: Sequence[Request]) -> Episode:
        """Sends a history of some requests, and omits each request that the model does not allow at
        its turn.
        """
        return self._run(request for request in requests if self.possible.predict(request))

    def shortened(self, episode: Episode, going_on: Callable[[], bool]) -> Episode:
        """Returns a shorter history that is not allowed either, or the same one if none is
        found.
        """
        best, runs = episode, 0
        size = max(1, len(best.requests) // 2)
        while size:
            start = 0
            while start < len(best.requests):
                if runs == MAX_RUNS or not going_on():
                    return best
                fewer = best.requests[:start] + best.requests[start + size :]
                tried = self.replay(fewer)
                runs += 1
                if not tried.agreed and len(tried.requests) < len(best.requests):
                    best = tried
                else:
                    start += size
            size = min(size // 2, len(best.requests))
        return best

    def _run(self, requests: Iterator[Request]) -> Episode:
        episode = Episode()
        self._system.reset()
        self._heard, self._asked = [], []
        self.possible.begin()
        for request in requests:
            self._send(request, episode)
            if not episode.agreed:
                break
        return episode

    def _send(self, request: Request, episode: Episode) -> None:
        name, fields = request.kind.event.name, request.fields
        answer = self._system.send(name, fields)
        if answer is None:
            return
        self.sent += 1
        self._asked.append(request)
        source = self._sources[self.kinds.index(request.kind)]
        event = {self.mapped.recording.event_field: request.kind.event.said}
        record = {"source": source, **event, **fields, **answer}
        if clash := sorted(answer.keys() & {"source", *event, *fields}):
            message = f"the answer to {name} has a field of the request, {clash[0]}"
            raise Rejected([Problem("F853", None, message)])
        self._heard = [*fields.values(), *answer.values()]
        asked, line = self._read(record, f"the answer to {name}")
        lines = {asked: [line]}
        episode.requests.append(request)
        episode.lines.append(record)
        episode.read.append((asked, line))
        for observed_line in self._system.observe():
            observed, line_ = self._read(observed_line, "a line that was observed")
            lines.setdefault(observed, []).append(line_)
            episode.lines.append(observed_line)
            episode.read.append((observed, line_))
        self.answers[name, self._kind_of(request.kind, line)] += 1
        episode.agreed = self.possible.advance(request, asked, lines)
        episode.certain = not self.possible.cuts

    def _read(self, record: dict[str, Json], source: str) -> tuple[Source, Line]:
        try:
            return Reader(self.mapped.recording).event(record)
        except Unread as why:
            raise Rejected([Problem("F853", None, f"{source}: {why}")]) from None

    def _source(self, kind: Kind) -> str:
        event = kind.event
        source = self.mapped.recording.sources[event.sources[0]]
        if len(event.sources) > 1:
            message = f"requests come from one source, but {event.name} may come from several"
            raise Rejected([Problem("F852", event.span, message)])
        if len(source.patterns) != 1 or any(wildcard in source.patterns[0] for wildcard in "*?["):
            message = f"requests come from one source, but {source.name} may be several"
            raise Rejected([Problem("F852", source.span, message)])
        return source.patterns[0]

    def _kind_of(self, kind: Kind, line: Line) -> str:
        """Returns the non-numeric part of an answer."""
        parts: list[str] = []
        for declared, read in zip(kind.event.fields, line.fields, strict=True):
            value = getattr(read, "value", None)
            if (
                declared in kind.answered
                and isinstance(declared.type, Nominal | Bool)
                and value is not None
            ):
                parts.append(show(value, declared.type))
        return ", ".join(parts)

    # ------------------------------------------------------------ choosing

    def _chosen(self) -> Request | None:
        """Chooses a request. Requests that lead to the least covered features are the most
        probable.
        """
        states = sorted(self.possible.states)
        candidates: dict[Request, frozenset[Feature]] = {}
        for _ in range(TRIES):
            for _ in range(CANDIDATES):
                state = self._random.choice(states)
                request = self._candidate(state)
                answers = self.possible.predict(request)
                if answers:
                    candidates[request] = self._features(request, answers, state)
            if candidates:
                break
        if not candidates:
            return None
        rarest = [
            min(self._covered[feature] for feature in features) for features in candidates.values()
        ]
        weights = [1 / (1 + count) ** 2 for count in rarest]
        chosen = self._random.choices(list(candidates), weights)[0]
        self._covered.update(candidates[chosen])
        return chosen

    def _candidate(self, state: State) -> Request:
        [kind] = self._random.choices(self.kinds, self._weights)
        earlier = [request for request in self._asked if request.kind == kind]
        if earlier and self._random.random() < REPEATED:
            return self._random.choice(earlier)
        return proposed(kind, state, self.mapped.model, self._heard, self._random)

    def _features(
        self, request: Request, answers: frozenset[str], state: State
    ) -> frozenset[Feature]:
        """Returns the features that a request would cover: each kind of answer, in the current
        situation.
        """
        name = request.kind.event.name
        plain = {_NUMBER.sub("#", answer) for answer in answers}
        situation = self._situation(state)
        return frozenset({(name, answer_kind, situation) for answer_kind in plain})

    def _situation(self, state: State) -> str:
        """Returns the text of a state without its numbers."""
        if state not in self._situations:
            if len(self._situations) > 10_000:
                self._situations.clear()
            variables = self.mapped.model.variables
            shown = " ".join(
                show(v, variable.type) for v, variable in zip(state, variables, strict=True)
            )
            self._situations[state] = _NUMBER.sub("#", shown)
        return self._situations[state]
