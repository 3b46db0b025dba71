"""Ghosts: history that properties see and nothing else depends on (docs/language.md section 9)."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, ran, refused, verdict

PRELUDE = """
type Id = 0..2
enum Color: Red, Green
record Meta: epoch: 0..3, ghost owner: Id
union Message:
    Write(epoch: 0..3, ghost owner: Id)
    Ask
    Carry(meta: Meta)
channel net: Message capacity 3
channel lines[i: Id]: Message capacity 2
channel plain: Color capacity 2
ghost var last: Id = 0
ghost var history: seq[Id, 3] = []
ghost var seen: set[Id] = {}
ghost var color: Color = Red
ghost var maybe: Id? = none
var x: 0..9 = 0
var flag: bool = false
var meta: Meta = Meta(1, 0)
var message: Message = Ask
var metas: seq[Meta, 3] = []
var pool: bag[Meta, 3] = []
var stock: map[Id, 0..9] = [0 for k in Id]
var slots: map[Id, Meta] = [Meta(0, k) for k in Id]
var some: set[Id] = {}
role Node[me: Id]:
    var y: 0..3 = 0
    ghost var h: 0..3 = 0
    action tick: h = y
def is_first(i: Id): bool = i == 0
procedure note(i: Id): x = i
"""


def action(body: str, receive: str = "", parameters: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{PRELUDE}\naction go{parameters}{receive}:\n{lines}"


@pytest.mark.parametrize(
    "body",
    [
        # No guard, choice, branch or value that is no ghost may depend on a ghost.
        "require last == 0",
        "require flag or is_first(last)",
        "if last == 0: skip",
        "if flag: skip\nelif color == Red: skip",
        "match color:\n    case Red: skip\n    case Green: skip",
        "match maybe:\n    case none: skip\n    case _: skip",
        "pick i in seen\nx = i",
        "pick i in Id where i == last",
        "for i in history: skip",
        "for i in 0..last: skip",
        "x = last",
        "x += last",
        "flag = last == 0",
        "let y = last + 1\nx = y",
        "note(last)",
        "x = if last == 0 then 1 else 2",
        "x = len(history)",
        "x = stock[last]",
        "x = Node[last].y",
        "stock[last] = 1",
        "some.add(last)",
        "some.remove(last)",
        "x = choose i in Id where i > last",
        "flag = exists i in history: i == x",
        "some = {i for i in Id if i != last}",
        "x = maybe!",
        "flag = maybe == none",
        "send Write(last, 0) to net",
        "send (if last == 0 then Red else Green) to plain",
        "send Ask to lines[last]",
        "x = meta.owner",
        "meta = Meta(last, 0)",
        "meta = meta with epoch: last",
        "metas = [Meta(0, k) for k in history]",
        "x = metas[0].owner",
        "let m = meta\nx = m.owner",
        "require metas[last].epoch == 0",
        # A value with ghost fields is not compared, ...
        "require meta == Meta(1, 0)",
        "flag = message == Ask",
        "flag = message in {message}",
        "flag = meta in metas",
        "x = count(metas, meta)",
        "x = count(pool, meta)",
        "pool.remove(meta)",
        "let m = min(metas)\nx = m.epoch",
        "let m = choose k in metas where k.epoch > 0\nx = m.epoch",
        "flag = metas == []",
        "require slots == [meta for k in Id]",
        # ... put in a set, ...
        "let s = {meta}\nx = len(s)",
        "let s = {k for k in metas}\nx = len(s)",
        # ... or iterated as a bag.
        "for m in pool: x = m.epoch",
        "metas = [m for m in pool]",
        "some = {m.epoch for m in pool if m.epoch < 3}",
    ],
)
def test_refused(body: str) -> None:
    refused(action(body), "F501", "must not depend on a ghost")


@pytest.mark.parametrize(
    ("receive", "body"),
    [
        # The binder of a ghost field is a ghost.
        (" on Write(epoch, owner) from net", "x = owner"),
        (" on Write(epoch, owner) from net", "require owner == 0"),
        (" on Write as w from net", "x = w.owner"),
        (" on Write(_, ==x) from net", "skip"),
        (" on Write(==last, _) from net", "skip"),
        (" on Carry(m) from net", "x = m.owner"),
        (" on Carry(==meta) from net", "skip"),
        (" on Ask from lines[last]", "skip"),
        ("(i in seen)", "skip"),
        ("(i in {meta})", "skip"),
    ],
)
def test_refused_in_the_head_of_an_action(receive: str, body: str) -> None:
    refused(action(body, receive), "F501", "must not depend on a ghost")


@pytest.mark.parametrize(
    "body",
    [
        # Ghost code reads everything.
        "last = if x < 3 then x else 0",
        "last = last + 1",
        "history.append(x)",
        "history[last] = last",
        "seen.add(last); seen = {i for i in seen if i != last}",
        "seen = {i for i in Id if is_first(i) or i == last}",
        "color = if meta == Meta(1, 0) then Red else Green",
        "maybe = choose i in Id where i == last",
        "let old = last\nlast = old",
        "meta.owner = last",
        "slots[x].owner = last",
        "meta = meta with owner: last",
        "meta = Meta(epoch: x, owner: last)",
        "seen = {m.owner for m in pool}",
        "assert last == 0",
        "let s = {meta}\nlast = len(s)",
        # A value with ghost fields is copied, sent and matched in ordinary code.
        "meta = Meta(2, last)",
        "metas.append(meta); meta = metas[0]; metas = [meta]",
        "pool.add(meta); x = len(pool)",
        "send Write(meta.epoch, last) to net",
        "send Carry(meta) to lines[x]",
        "match message:\n    case Write(e, o):\n        last = o\n        x = e\n    case _: skip",
        "if message is Write and message.epoch == 1: x = message.epoch",
        "for m in metas: x = m.epoch",
        "pick m in metas where m.epoch > 0\nx = m.epoch",
        "flag = exists m in pool: m.epoch == 1",
        "require forall m in net: m is not Ask",
        "require len(net) < 2",
        "x = first(metas).epoch",
    ],
)
def test_allowed(body: str) -> None:
    heard = "\naction hear on _ from net: skip\naction listen on _ from lines[0]: skip\n"
    assert codes(action(body.replace("; ", "\n")) + heard) == []


def test_a_quantifier_over_a_bag_must_not_look_at_the_ghosts_in_it() -> None:
    refused(action("flag = exists m in pool: m.owner == 1"), "F501")
    refused(action("require forall m in net: m is Write implies m.owner == 1"), "F501")


@pytest.mark.parametrize(
    ("declaration", "code"),
    [
        ("var s: set[Meta, 3] = {}", "F503"),
        ("var m: map[Meta, bool] = [true for k in Meta]", "F503"),
        ("channel c: Message persistent capacity 3", "F503"),
        ("var z: Id = last", "F501"),
        ("var z: Id in seen", "F501"),
        ("var z: Id in Id where z == last", "F501"),
        ("initially: last == 0", "F501"),
    ],
)
def test_declarations(declaration: str, code: str) -> None:
    refused(f"{PRELUDE}\n{declaration}\naction go: skip\n", code)


def test_properties_read_ghosts() -> None:
    spec = f"""{PRELUDE}
invariant I: last == 0 and meta == Meta(1, 0) and forall m in net: m is Ask
step invariant S: next(last) >= last
terminal: last == 0
constraint C: last < 2
reachable R: seen == {{}}
"""
    assert verdict(spec) == "ok"


def test_ghosts_are_part_of_the_state_and_its_counts() -> None:
    spec = "var x: 0..1 = 0\n{}var h: 0..3 = 0\naction a: x = 1 - x; h = (h + 1) % 4\n"
    assert ran(spec.format("ghost ")).states == 4
    fields = (
        "record M: a: 0..1, ghost b: 0..2\nvar m: M = M(0, 0)\naction a(g in 0..2): m = M(1, g)\n"
    )
    assert ran(fields).states == 4
    messages = """
        union M: W(ghost by: 0..1)
        channel net: M capacity 1
        action put(i in 0..1) : require len(net) == 0; send W(i) to net
        action take on W from net: skip
    """
    assert ran(messages).states == 3


def test_a_ghost_leaving_its_range_is_an_evaluation_error() -> None:
    assert verdict("ghost var g: 0..2 = 0\naction a: g += 1\n") == "error F901"
    assert verdict("ghost var g: seq[bool, 1] = []\naction a: g.append(true)\n") == "error F902"


def test_the_message_says_why() -> None:
    refused(action("let y = last + 1\nx = y"), "F501", "x, which is no ghost,")
    refused(action("require meta.owner == 0"), "F501", "a guard", '"owner" is a ghost field')
    refused(action("if last == 0: skip"), "F501", "a branch", '"last" is a ghost variable')
    refused(
        action("require meta == meta"), "F501", "compares values of Meta, which has ghost fields"
    )
