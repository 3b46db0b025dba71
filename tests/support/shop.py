"""A shop and its hand-written recordings: every form of a rule, and messages that wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.lease import Event

SHOP = '''\
"""A shop that answers requests, and writes to one log for each shelf."""
enum Shelf: Upper, Lower
enum Reply: Yes, No
union Message:
    Put(shelf: Shelf, count: int16)
    Ask(shelf: Shelf)
    Done(reply: Reply)
    Noise
record Entry: shelf: Shelf, count: int16
channel net: Message capacity 3
var stock: map[Shelf, 0..9] = [0 for s in Shelf]
var swaps: 0..3 = 0
role Worker[shelf: Shelf]:
    var closed: bool = false
    action put on Put(==shelf, count) from net:
        if not closed and count > 0:
            stock[shelf] = stock[shelf] + int(count)
        send Noise to net
    action swap on Put(==shelf, count) from net:
        require count == -1 and exists m in net: m is Put and m.shelf != shelf
        swaps += 1
    action ask on Ask(==shelf) from net:
        send Done(if stock[shelf] > 0 then Yes else No) to net
    action close(hard in bool):
        require not closed
        closed = true
'''

LOGS = """\
import shop as m
from shop import Worker, net, stock, Shelf, Reply, Upper, Lower, Yes, No, Put, Ask
const Most: int = 1
recording:
    key day by shelf
    event kind
    source office ordered
    source shelves ordered in "s-*", "t"
    bind shelf: Shelf where "up" = Upper, -1 = Lower
event filled(source as from_: shelf, total: int) from shelves
event closed(shelf: shelf, hard as how: bool?) from office
event asked(shelf: shelf, answer: Reply) from office
event stocktaking(all as those: set[shelf]) from office
event noted(text: int) from office
event swapped from office

shows filled(s, next(stock)[s]) for s in Shelf when next(stock)[s] != stock[s]
input closed: Worker[shelf].close(how == true)
shows stocktaking({s for s in Shelf if Worker[s].closed}) on Worker.close(shelf) when shelf == Lower
shows swapped when next(m.swaps) != m.swaps
ahead swapped:
    pick s in Shelf
    send Put(s, -1) to net
ahead filled when stock[from_] < total: send Put(from_, int16(total - stock[from_])) to net
answers asked when net == [] on Done(==answer) from net: send Ask(shelf) to net
tolerate noted when text > 0
drop Noise from net
at most Most under way
check one: expect ok
check still:
    const Most = 0
terminal: true
"""


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


FOUR = """\
union Message: Put(k: 0..4, round: 0..40)
channel net: Message capacity 6
var round: 0..40 = 0
action together on Put(k, r) from net:
    require k == 0 and r == round and (forall j in 1..4: Put(j, r) in net)
    round += 1
action take on Put(k, r) from net:
    require k != 0 and r < round
recording:
    source log ordered
    source other ordered
event done(n: int) from log
event noise(n: int) from other
shows done(next(round)) when next(round) != round
ahead done:
    pick k in 0..4
    require Put(k, round) not in net
    send Put(k, round) to net
input noise: skip
terminal: true
"""
