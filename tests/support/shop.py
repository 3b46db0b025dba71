"""A shop with hand-written recordings, which covers every form of a rule and messages that wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.lease import Event
from tests.support.paths import spec_text

SHOP = spec_text("shop")

LOGS = spec_text("shop_mapping")


def event(kind: str, source: str = "office", **fields: Any) -> Event:
    return {"source": source, "kind": kind, **fields}


TWO = event("filled", "s-a", total=2)
FIVE = event("filled", "s-a", total=5)
UP = event("closed", shelf="up")
LOW = event("closed", shelf=-1, hard=True)
SWAP = event("swapped")

DAYS: dict[str, tuple[list[Event], str, int]] = {
    "put in ahead": ([TWO, FIVE], "allowed", 2),
    "less than before, or a stock of ten": ([FIVE, TWO], "unknown", 1),
    "an order in each source of a kind": ([TWO, FIVE, {**TWO, "source": "t"}], "allowed", 3),
    "a third source is no third shelf": (
        [TWO, {**TWO, "source": "s-b"}, {**TWO, "source": "t"}], "unknown", 2,
    ),
    "beyond the range of the model": ([{**TWO, "total": 10}], "unknown", 0),
    "an event is a step": ([UP], "allowed", 1),
    "that step was taken": ([UP, UP], "not allowed", 1),
    "a step reads its event, and shows one": ([LOW, event("stocktaking", all=[])], "allowed", 2),
    "which is missing": ([LOW], "not allowed", 0),
    "a set of names": ([UP, LOW, event("stocktaking", all=["up"])], "allowed", 3),
    "a set of another name for it": ([UP, LOW, event("stocktaking", all=["x"])], "allowed", 3),
    "a set that is larger": ([UP, LOW, event("stocktaking", all=["x", -1])], "not allowed", 1),
    "an answer": ([event("asked", shelf="up", answer="No")], "allowed", 1),
    "another answer": ([TWO, event("asked", shelf="s-a", answer="Yes")], "allowed", 2),
    "no such answer": ([event("asked", shelf="up", answer="Yes")], "not allowed", 0),
    "passed over": ([event("noted", text=1), UP], "allowed", 2),
    "not to be passed over": ([event("noted", text=0), UP], "not allowed", 0),
    "two under way": ([SWAP], "allowed", 1),
}  # fmt: skip


def shop(tmp_path: Path, mapping: str = LOGS) -> Path:
    (tmp_path / "shop.fence").write_text(SHOP, encoding="utf-8")
    (tmp_path / "map.fence").write_text(mapping, encoding="utf-8")
    return tmp_path


def days(histories: dict[str, list[Event]]) -> str:
    lines = ({"day": key, **event} for key, events in histories.items() for event in events)
    return "".join(json.dumps(line) + "\n" for line in lines)


FOUR = spec_text("four_in_flight")
