"""Ghosts: only properties see this history; nothing else depends on it (docs/language.md section
9).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, refused
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

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


@pytest.mark.parametrize("body", [text for (text,) in TABLES["refused"]])
def test_refused(body: str) -> None:
    refused(action(body), "F501", "must not depend on a ghost")


@pytest.mark.parametrize(("receive", "body"), TABLES["refused_in_the_head_of_an_action"])
def test_refused_in_the_head_of_an_action(receive: str, body: str) -> None:
    refused(action(body, receive), "F501", "must not depend on a ghost")


@pytest.mark.parametrize("body", [text for (text,) in TABLES["allowed"]])
def test_allowed(body: str) -> None:
    heard = "\naction hear on _ from net: skip\naction listen on _ from lines[0]: skip\n"
    assert codes(action(body.replace("; ", "\n")) + heard) == []


def test_a_quantifier_over_a_bag_must_not_read_its_ghosts() -> None:
    refused(action("flag = exists m in pool: m.owner == 1"), "F501")
    refused(action("require forall m in net: m is Write implies m.owner == 1"), "F501")


@pytest.mark.parametrize(("declaration", "code"), TABLES["declarations"])
def test_declarations(declaration: str, code: str) -> None:
    refused(f"{PRELUDE}\n{declaration}\naction go: skip\n", code)


def test_the_message_gives_the_reason() -> None:
    refused(action("let y = last + 1\nx = y"), "F501", "x, which is not a ghost,")
    refused(action("require meta.owner == 0"), "F501", "a guard", '"owner" is a ghost field')
    refused(action("if last == 0: skip"), "F501", "a branch", '"last" is a ghost variable')
    refused(
        action("require meta == meta"), "F501", "compares values of Meta, which has ghost fields"
    )
