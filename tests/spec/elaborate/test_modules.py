"""Modules: parameters, instances, overrides, and which modules' state is included."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, problems, ran, refused, verdict
from tests.support.text_tables import tables

from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

TABLES = tables(Path(__file__))

COUNTING = """
    const Top: int = 2
    type Count = 0..Top
    enum Mood: Calm, Busy
    var value: Count = 0
    ghost var noted: Count = 0
    channel ticks: Mood capacity 1
    def full: bool = value == Top
    def double(n: int): int = 2 * n
    procedure reset: value = 0
    action up:
        require not full
        value += 1
    role Clock:
        var t: 0..1 = 0
        action tick: t = 1 - t
    invariant Low: value <= Top
"""

QUEUE = """
    param const Size: int
    param type Item
    param channel net: Item
    record Entry: item: Item, at: 0..Size
    def latest(log: seq[Item]): Item = last(log)
    role Reader:
        var log: seq[Item, Size] = []
        action read on _ as m from net:
            require len(log) < Size
            log.append(m)
"""

FILES = {"counting.fence": COUNTING, "lib/queue.fence": QUEUE}


def test_import_as_and_from() -> None:
    spec = """
        import counting as c
        from counting import double, Mood
        import counting
        var m: Mood = Busy
        action a: m = c.Calm
        terminal: c.value == 2
        invariant I: double(c.Top) == 4 and counting.value == c.value and c.Mood.Busy == Busy
    """
    result = ran(spec, FILES)
    assert result.verdict == "ok"
    assert [v.name for v in result.model.variables] == [
        "c.value", "c.noted", "c.ticks", "c.Clock.t", "m",
    ]  # fmt: skip
    assert [a.name for a in result.model.actions] == ["c.up", "c.Clock.tick", "a"]
    assert [p.name for p in result.model.properties if p.name] == ["c.Low", "I"]


def test_state_joins_only_when_a_role_variable_or_channel_is_named() -> None:
    for use in ("c.Top == 2", "c.double(2) == 4", "x == 0 or c.Calm == c.Busy"):
        model = ran(
            f"import counting as c\nvar x: c.Count = 0\naction a: skip\ninvariant I: {use}", FILES
        ).model
        assert [v.name for v in model.variables] == ["x"]
        assert [a.name for a in model.actions] == ["a"]
    for use in (
        "c.value == 0",
        "len(c.ticks) == 0",
        "c.Clock.t == 0",
        "not c.full",
        "enabled(c.up)",
    ):
        model = ran(f"import counting as c\nvar x: 0..1 = 0\naction a: skip\nterminal: true\n"
                    f"constraint K: {use}", FILES).model  # fmt: skip
        assert len(model.variables) == 5
    model = ran("from counting import Clock\naction a: skip\nterminal: true", FILES).model
    assert [a.name for a in model.actions] == ["counting.up", "Clock.tick", "a"]
    model = ran("import counting as c\naction a: c.reset()\nterminal: true", FILES).model
    assert len(model.variables) == 4


def test_parameters() -> None:
    spec = """
        from lib.queue import (Reader, latest) with (Size = N, Item = Letter, net = post)
        const N: int = 2
        enum Letter: A, B
        channel post: Letter capacity 1
        var sent: 0..3 = 0
        action write(l in Letter):
            require sent < 3 and post == []
            send l to post
            sent += 1
        terminal: true
        invariant I: len(Reader.log) > 0 implies latest(Reader.log) in {A, B}
        invariant J: Reader.log != [A, B]
    """
    result = ran(spec, FILES)
    assert result.verdict == "violated J"
    assert [v.name for v in result.model.variables] == ["Reader.log", "post", "sent"]
    assert result.steps == ["write(A)", "Reader.read(A)", "write(B)", "Reader.read(B)"]


def test_equal_arguments_give_the_same_instance_and_others_another_type() -> None:
    queue = "param const Size: int\nenum Side: Left, Right\nrecord Entry: n: 0..Size, s: Side\n"
    files = {"pair.fence": queue + "var v: 0..Size = 0\n"}
    head = "import pair as a with Size = 1\nimport pair as b with Size = 3 - 2\n"
    head += "import pair as c with Size = 2\nfrom pair import Entry with Size = 2\n"
    same = "action z: skip\ninvariant I: a.Left == b.Left\n"
    same += "invariant J: a.Entry(1, a.Left) == b.Entry(1, b.Left)\n"
    assert verdict(head + same, files) == "ok"
    assert codes(head + "action z: skip\ninvariant I: a.Left == c.Left\n", files) == ["F302"]
    assert codes(head + "var e: c.Entry = a.Entry(1, a.Left)\naction z: skip\n", files) == ["F301"]
    assert codes(head + "var e: c.Entry = Entry(1, c.Left)\naction z: skip\n", files) == []
    state = ran(head + "action z: b.v = 1; c.v = 2\ninvariant I: a.v == b.v and a.Size == 1", files)
    assert state.verdict == "ok"
    assert [v.name for v in state.model.variables] == ["a.v", "c.v"]


def test_a_module_reached_twice_is_one() -> None:
    files = {
        "base.fence": "const K: int = 1\nenum E: A, B\nvar v: 0..K = 0\n",
        "left.fence": "import base\ndef l: bool = base.v == 0\nvar e: base.E = base.A\n",
        "right.fence": "import base as b\ndef r: bool = b.v == b.K\nvar e: b.E = b.B\n",
    }
    spec = "import left\nimport right\naction a: skip\nterminal: true\n"
    spec += "invariant I: left.l and not right.r and left.e != right.e\n"
    result = ran(spec + "check c:\n    const right.b.K = 3\n", files)
    assert result.verdict == "ok"
    assert len(result.model.variables) == 3
    assert ("left.base.K", 3) in [(c.path, c.value) for c in result.model.constants]
    twice = spec + "check c:\n    const right.b.K = 3\n    const left.base.K = 4\n"
    refused(twice, "F824", "it is one constant, and has one value", files=files)


def test_constants_and_who_wins() -> None:
    """An import overrides the declaration, a check overrides the import, and the command line
    overrides them all.
    """
    files = {"m.fence": "const N: int = 1\nconst M: int = N * 10\ntype T = 0..N\n"}
    spec = "import m{}\nvar x: m.T = 0\naction a: x = m.N\nterminal: true\n"
    spec += "reachable R: x == m.N\ncheck c:\n    {}\n"

    def constants(with_: str, check: str, const: dict[str, str]) -> dict[str, object]:
        result = ran(spec.format(with_, check), files, const=const)
        assert result.verdict == "ok"
        return {constant.path: constant.value for constant in result.model.constants}

    assert constants("", "expect ok", {}) == {"m.N": 1, "m.M": 10}
    assert constants(" with N = 2", "expect ok", {}) == {"m.N": 2, "m.M": 20}
    assert constants(" with N = 2", "const m.N = 3", {}) == {"m.N": 3, "m.M": 30}
    assert constants(" with N = 2", "const m.N = 3", {"m.N": "2 + 2"}) == {"m.N": 4, "m.M": 40}
    assert constants("", "const m.M = 3", {"m.N": "5"}) == {"m.N": 5, "m.M": 3}


@pytest.mark.parametrize(("spec", "code", "phrase"), TABLES["misuse"])
def test_misuse(spec: str, code: str, phrase: str) -> None:
    extra = "\nvar x: 0..1 = 0\nchannel n: bool capacity 1\naction a: x = 1\n"
    refused(spec + extra, code, phrase, files=FILES)


def test_a_channel_of_another_message_type() -> None:
    spec = "import lib.queue as q with Size = 1, Item = 0..1, net = n\nchannel n: bool capacity 1\n"
    spec += "action a: send true to n\ninvariant I: q.Reader.log == []\n"
    reported = problems(spec, FILES)
    assert [problem.code for problem in reported] == ["F607"]


def test_problems_in_a_module_have_its_position() -> None:
    files = {"bad.fence": "var x: 0..1 = true\ndef f(n: int): bool = n\n"}
    reported = problems("import bad\naction a: bad.x = 1\n", files)
    assert [problem.code for problem in reported] == ["F301"]
    assert reported[0].span is not None
    assert reported[0].span.source.name.endswith("bad.fence")


def test_imports_stay_inside_their_roots(tmp_path: Path) -> None:
    (tmp_path / "outside.fence").write_text("const N: int = 1\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.fence").symlink_to(tmp_path / "outside.fence")
    spec = inside / "spec.fence"
    spec.write_text("import link\nimport outside\naction a: skip\n")
    with pytest.raises(Rejected) as caught:
        program.load(spec)
    assert [problem.code for problem in caught.value.problems] == ["F601", "F601"]
    with pytest.raises(Rejected) as caught:
        program.load(spec, [tmp_path])
    assert [problem.code for problem in caught.value.problems] == ["F601"]


def test_search_path_of_modules(tmp_path: Path) -> None:
    """A module is looked up next to the importing file, then on the path, then in the shipped
    library.
    """
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, value in ((here, 1), (there, 2)):
        folder.mkdir()
        (folder / "both.fence").write_text(f"const N: int = {value}\n")
    (there / "only.fence").write_text("import both\nconst M: int = both.N + 10\n")
    spec = here / "spec.fence"
    spec.write_text("import both\nimport only\nimport invariants.transaction_log as t with "
                    "Pid = 0..0, Epoch = 0..0, Transaction = 0..0\naction a: skip\n")  # fmt: skip
    model = program.build(program.load(spec, [there]), None)
    values = {constant.path: constant.value for constant in model.constants}
    assert values["both.N"] == 1
    assert values["only.M"] == 12
    shipped = program.load(spec, [there]).files.files
    names = [file.source.name for file in shipped.values()]
    assert "invariants/transaction_log.fence" in names


def test_a_diamond_of_instances_is_resolved_fast() -> None:
    files = {
        f"m{i}.fence": f"import m{i - 1} with N = N + 1\nconst N: int = 0\n" for i in range(1, 20)
    }
    files["m0.fence"] = "const N: int = 0\nvar x: 0..N = 0\n"
    assert codes("import m19 with N = 1\naction a: skip\n", files) == []
