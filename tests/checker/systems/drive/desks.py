"""Correct and faulty lock desks: systems for `fencepost drive`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Desk:
    """The desk of desk.fence."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.holder: Any = None
        self.issued = 0
        self.log: list[int] = []

    def send(self, request: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if request == "ask":
            ok = self.holder is None and self.issued < 100
            if ok:
                self.holder = fields["client"]
                self.issued += 1
            return {"ok": ok, "token": self.issued if ok else 0}
        if request == "write":
            ok = self.allows(fields["client"], fields["token"])
            if ok:
                self.log.append(fields["token"])
            return {"ok": ok}
        self.holder = None
        return {}

    def allows(self, client: str, token: int) -> bool:
        return bool(client == self.holder and token == self.issued)

    def observe(self) -> Iterable[Mapping[str, Any]]:
        new, self.log = self.log, []
        return [{"source": "store", "event": "written", "token": token} for token in new]


class Trusting(Desk):
    """Accepts every token that was issued, even after the lease ended."""

    def allows(self, client: str, token: int) -> bool:
        return 0 < token == self.issued


class Forgetful(Desk):
    """Loses accepted writes after the second lease."""

    def observe(self) -> Iterable[Mapping[str, Any]]:
        return [] if self.issued > 1 else super().observe()


class Eager(Desk):
    """Reports each write twice after the second lease."""

    def observe(self) -> Iterable[Mapping[str, Any]]:
        events = list(super().observe())
        return events * 2 if self.issued > 1 else events


class Large(Desk):
    """Issues tokens outside the range of the model."""

    def send(self, request: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = dict(super().send(request, fields))
        if request == "ask" and answer["ok"]:
            answer["token"] += 1000
        return answer


class Raising(Desk):
    def send(self, request: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        raise RuntimeError("the printer is on fire")


class Curt(Desk):
    def send(self, request: str, fields: Mapping[str, Any]) -> Any:
        return 5


class Closed(Desk):
    def send(self, request: str, fields: Mapping[str, Any]) -> Any:
        return None


class Discreet(Desk):
    """Rejects every request from Bob."""

    def send(self, request: str, fields: Mapping[str, Any]) -> Any:
        return None if fields["client"] == "Bob" else super().send(request, fields)


class Vague(Desk):
    def send(self, request: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}


class Repeating(Desk):
    def send(self, request: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**fields, **super().send(request, fields)}


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


NOTHING = None


class Weighing(Desk):
    """Rarely ends a lease, and never asks for a write."""

    def weight(self, request: str) -> float:
        return {"ask": 1, "write": 0, "expire": 0.2}[request]


class Weightless(Desk):
    def weight(self, request: str) -> float:
        return 0.0


class Negative(Desk):
    def weight(self, request: str) -> float:
        return -1.0
