"""The meaning of names at positions (definitions, references, types), and renaming based on it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_lowercase
from textwrap import dedent

import pytest
from tests.support.amounts import everything
from tests.support.shipped import MODELS, has_many_checks, is_port
from tests.support.text_tables import Block, blocks

from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.base.context import Recorder
from fencepost.spec.elaborate.base.files import Files, read_files
from fencepost.spec.elaborate.claims.program import build, load, scanned
from fencepost.spec.elaborate.ide.references import Declaration
from fencepost.spec.elaborate.ide.survey import Survey, survey
from fencepost.spec.elaborate.values.functions import BUILT_IN
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Rejected

LIBRARY = {
    "m.fence": """
        # How many
        # there are.
        const Top: int = 2
        enum Mood: Calm, Busy
        record Entry: item: 0..Top, mood: Mood
        def full(n: 0..Top): bool = n == Top
        invariant Sane: Top > 0
    """,
    "q.fence": """
        param const Size: int
        param type Item
        param channel net: Item
        def room(log: seq[Item, Size]): bool = len(log) < Size
        role Reader:
            var log: seq[Item, Size] = []
            action read on _ as m from net:
                require room(log)
                log.append(m)
    """,
}

BLOCKS = blocks(Path(__file__).with_name("references.txt"))
MARKED = [block for block in BLOCKS if not block.expected]


def titled(name: str) -> list[Block]:
    """Returns the blocks with a title."""
    return [block for block in BLOCKS if block.name == name]


Place = tuple[int, int]
"""The start and the end of a name in a text."""


def _unmarked(text: str) -> tuple[str, Place, list[Place]]:
    """Returns the text without its marks, the place of the declaration, and those of the uses."""
    plain = re.sub("[«»‹›]", "", text)
    declared: list[Place] = []
    uses: list[Place] = []
    for number, match in enumerate(re.finditer(r"[«‹](\w+)[»›]", text)):
        start = match.start() - 2 * number
        (declared if match.group().startswith("«") else uses).append((start, start + len(match[1])))
    (only,) = declared
    return plain, only, uses


def _surveyed(folder: Path, text: str) -> Survey:
    """Surveys a spec that has no file, in a folder of modules."""
    texts = {folder / name: dedent(content).lstrip("\n") for name, content in LIBRARY.items()}
    return survey(folder / "spec.fence", unsaved={**texts, folder / "spec.fence": text})


@pytest.mark.parametrize("block", MARKED, ids=lambda block: block.name)
def test_a_name_and_its_uses(tmp_path: Path, block: Block) -> None:
    text, (start, end), uses = _unmarked(block.text)
    analysis = _surveyed(tmp_path, text)
    assert bool(analysis.problems) == (block.name == "value in an error"), analysis.problems
    source = analysis.files.files[analysis.files.root].source
    (declaration,) = analysis.references.definition_at(source, start)
    assert (declaration.span.start, declaration.span.end) == (start, end)
    references = analysis.references.references_of(declaration)
    assert [(span.start, span.end) for span in references if span.source is source] == uses
    for use in uses:
        for offset in use:
            assert analysis.references.definition_at(source, offset) == (declaration,)


@pytest.mark.parametrize("block", titled("hover"), ids=lambda block: block.rest)
def test_hover_texts_of_names(tmp_path: Path, block: Block) -> None:
    analysis = _surveyed(tmp_path, block.text.replace("‸", ""))
    source = analysis.files.files[analysis.files.root].source
    shown = [
        " ".join(
            [item.name, item.kind, ", ".join(item.types), Path(item.span.source.name).name]
            + ([] if item.docstring is None else [item.docstring.replace("\n", "/")])
        )
        for item in analysis.references.definition_at(source, block.text.index("‸"))
    ]
    assert (shown or ["nothing"]) == [*block.expected]


@pytest.mark.parametrize("block", titled("typed"), ids=lambda block: block.rest)
def test_types_of_expressions(tmp_path: Path, block: Block) -> None:
    analysis = _surveyed(tmp_path, block.text.replace("‸", ""))
    source = analysis.files.files[analysis.files.root].source
    types = analysis.references.type_at(source, block.text.index("‸"))
    assert (", ".join(types),) == block.expected


def test_instances_that_differ(tmp_path: Path) -> None:
    """A name with different meanings in two instances has both, and all of them are renamed
    together.
    """
    text = """
channel one: 0..1 capacity 1
enum E: A
enum F: A
import p as left with Item = E
import p as right with Item = F
invariant I: left.is_first(E.A) and right.is_first(F.A)
"""
    module = "param type Item\ndef is_first(item: Item): bool = item == A\n"
    texts = {tmp_path / "spec.fence": text.lstrip("\n"), tmp_path / "p.fence": module}
    analysis = survey(tmp_path / "spec.fence", unsaved=texts)
    assert analysis.problems == ()
    tree = analysis.files.files[(tmp_path / "p.fence").resolve()]
    both = analysis.references.definition_at(tree.source, module.rindex("A"))
    assert [item.span.line for item in both] == [2, 3]
    assert {len(analysis.references.renaming(item)) for item in both} == {5}
    (parameter,) = analysis.references.definition_at(tree.source, module.index("item"))
    assert parameter.types == ("E", "F")


def test_files_in_memory(tmp_path: Path) -> None:
    """Texts in memory replace existing and missing files; malformed texts are reported."""
    spec, module = tmp_path / "spec.fence", tmp_path / "deep" / "m.fence"
    spec.write_text("import deep.m\nvar x: 0..m.Top = 5\n", encoding="utf-8")

    def codes(texts: Mapping[Path, str]) -> list[str]:
        return [problem.code for problem in survey(spec, unsaved=texts).problems]

    assert codes({}) == ["F601"]
    assert codes({module: "const Top: int = 5\n"}) == []
    by_another_path = tmp_path / "deep" / ".." / "deep" / "m.fence"
    assert codes({by_another_path: "const Top: int = 4\n"}) == ["F701"]
    assert codes({spec: "var x: 0..1 = 0\n"}) == []
    assert codes({module: "const Top: int = 5\0\n"}) == ["F007"]
    assert codes({module: "const Top: int = \ud800\n"}) == ["F006"]


# ---------------------------------------------------------------- the shipped models

SOME = [
    path
    for path in MODELS
    if not (has_many_checks(path) or is_port(path)) or path.stem in {"txn_core_v2", "paxos"}
]


def _names(files: Files) -> Iterator[syntax.Name]:
    """Yields the names in some files, except those that refer to no declaration.

    These are words of the language, engines, and the folders before a module's name.
    """
    root = files.files[files.root]
    refines = any(isinstance(node, syntax.RefinementDecl) for node in root.declarations)
    # Refined modules are skipped: their properties are checked separately.
    for file in [root] if refines else files.files.values():
        every = list(walk(file.declarations))
        folders = {id(p) for n in every if isinstance(n, syntax.Import) for p in n.module[:-1]}
        engines = {id(n.engine) for n in every if isinstance(n, syntax.CheckEngine)}
        for node in every:
            if isinstance(node, syntax.Name) and id(node) not in folders | engines:
                yield node


@pytest.mark.parametrize(
    "path", MODELS if everything("SHIPPED") else SOME, ids=lambda path: path.stem
)
def test_every_name_of_the_models_is_resolved(path: Path) -> None:
    analysis = survey(path)
    assert [problem for problem in analysis.problems if not problem.warning] == []
    references = analysis.references
    unknown = [
        f"{name.text} at {name.span}"
        for name in _names(analysis.files)
        if name.span not in references.declarations
        and name.span not in references.uses
        and name.text not in (*BUILT_IN, "_")
    ]
    assert unknown == []
    for span, meant in references.uses.items():
        wrong = [item for item in meant if item.kind != "module" and item.name != span.text]
        assert wrong == [], span


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_noting_changes_nothing(path: Path) -> None:
    program = load(path)
    check = program.checks[0]
    assert build(program, check, recorder=Recorder()) == build(program, check)


def _renamed(analysis: Survey, declaration: Declaration, new: str) -> dict[Path, str]:
    """Returns the texts with a declaration renamed to ``new``, a name of the same length."""
    texts = {path: file.source.text for path, file in analysis.files.files.items()}
    paths = {id(file.source): path for path, file in analysis.files.files.items()}
    for span in analysis.references.renaming(declaration):
        path = paths[id(span.source)]
        assert texts[path][span.start : span.end] == declaration.name, span
        texts[path] = texts[path][: span.start] + new + texts[path][span.end :]
    return texts


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_renaming_leaves_the_model_as_it_is(path: Path) -> None:
    """Renaming a declaration at all its uses changes nothing in the model except the name."""
    analysis = survey(path)
    assert renamings(path, analysis, random.Random(f"12 {path.stem}"), 2) == []


def renamings(path: Path, analysis: Survey, draw: random.Random, picks: int) -> list[Declaration]:
    """Returns the declarations in a random sample that cannot be renamed."""
    files = analysis.files
    words = {word for item in files.files.values() for word in re.findall(r"\w+", item.source.text)}
    declared = [item for item in analysis.references.declarations.values() if item.kind != "module"]
    program, _ = scanned(path, files)
    before = repr(build(program, program.checks[0]))
    wrong: list[Declaration] = []
    for item in draw.sample(declared, picks):
        tries = ("".join(draw.choices(ascii_lowercase, k=len(item.name))) for _ in range(999))
        new = next(word for word in tries if word not in words)
        try:
            changed, _ = scanned(path, read_files(path, (), _renamed(analysis, item, new)))
            after = repr(build(changed, changed.checks[0]))
        except Rejected:
            after = ""
        if re.sub(rf"\b{new}\b", item.name, after) != before:
            wrong.append(item)
    return wrong
