"""Quick fixes: edits that apply the suggestion in a problem's message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from fencepost.checker.lsp.desk import View
from fencepost.checker.lsp.places import Edits
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Nominal, Option, Type, Union
from fencepost.spec.elaborate.ide.references import declared_names
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.formatter import STEP
from fencepost.spec.syntax.tokens import CLOSING, COMMENT, OPENING, scan
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Span

_Make: TypeAlias = "Callable[[View, Problem, Span], Iterator[Cure]]"


@dataclass(frozen=True, slots=True)
class Cure:
    """A quick fix: edits of the file, and the title that the editor shows."""

    title: str
    edits: Edits


def cures(view: View, problem: Problem) -> Iterator[Cure]:
    """Yields the quick fixes for a problem in the view's own file, the most likely fix first."""
    span = problem.span
    if span is None or span.source is not view.source:
        return
    yield from _suggested(problem, span)
    make = _BY_CODE.get(problem.code)
    if make is not None:
        yield from make(view, problem, span)


# ---------------------------------------------------------------- another word


_PROPOSED = re.compile(r'(?:did you mean|it is called) "([^"]+)"')
_QUOTED = re.compile(r'"([^"]+)"')


def _suggested(problem: Problem, span: Span) -> Iterator[Cure]:
    """Replaces the wrong word by the word that the message suggests."""
    proposed = _PROPOSED.search(problem.message)
    if proposed is None:
        return
    new = proposed[1]
    wrong = _word(problem.message[: proposed.start()], span)
    if wrong is not None:
        yield Cure(f'Change to "{new}"', [(*wrong, new)])


def _word(message: str, span: Span) -> tuple[int, int] | None:
    """Finds a word that the message quotes, and returns its range within the span. Returns None if
    the span contains no such word.
    """
    for quoted in _QUOTED.findall(message):
        match = re.search(rf"(?<![\w.]){re.escape(quoted)}(?![\w.])", span.text)
        match = match or re.search(rf"(?<!\w){re.escape(quoted)}(?!\w)", span.text)
        if match is not None:
            return span.start + match.start(), span.start + match.end()
    return None


def _another_sign(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Replaces a sign or word from another language by the notation that the message suggests."""
    written = re.search(r'(?:; |to compare, |here )write "([^"]+)"$', problem.message)
    if written is None:
        return
    new = written[1]
    if not (span.text.isidentifier() or any(char.isalnum() for char in span.text)):
        new = f" {new} " if new.isidentifier() else new
        before, behind = view.text.text[: span.start][-1:], span.source.text[span.end :][:1]
        new = new.lstrip() if before.isspace() else new
        new = new.rstrip() if behind.isspace() else new
    if len(new.split()) == 1:
        yield Cure(f'Write "{new.strip()}"', [(span.start, span.end, new)])


def _colon(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    line_end = span.source.text.find("\n", span.start)
    end = len(span.source.text) if line_end < 0 else line_end
    start = span.source.text.rfind("\n", 0, span.start) + 1
    tokens = [token for token in scan(span.source.text[start:end]) if token.kind != COMMENT]
    if tokens:
        at = start + tokens[-1].end
        yield Cure('Write ":" at the end of the line', [(at, at, ":")])


# ---------------------------------------------------------------- of types


def _converted(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Encloses a machine integer in ``int(...)``, or adds ``!`` to an option."""
    if "int(...) converts" in problem.message:
        yield Cure(
            "Convert with int(...)", [(span.start, span.start, "int("), (span.end, span.end, ")")]
        )
    yield from _unwrapped(view, problem, span)


def _unwrapped(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    if "`!` unwraps an option" not in problem.message:
        return
    target = span
    source = span.source.text
    node = _node(view, span, syntax.Attribute)
    if isinstance(node, syntax.Attribute) and node.name.span == span:
        target = node.base.span
    node = _node(view, span, syntax.Index)
    if problem.code == "F313" and isinstance(node, syntax.Index):
        target = node.base.span
    if isinstance(_type(view, target), Option):
        simple = all(char.isalnum() or char in "_.[]" for char in source[target.start : target.end])
        new = [(target.end, target.end, "!")]
        if not simple:
            new = [(target.start, target.start, "("), (target.end, target.end, ")!")]
        yield Cure("Unwrap with !", new)


def _qualified(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Qualifies a member that several types have, as in ``E.A``."""
    _, separator, behind = problem.message.partition("; write ")
    for name in re.findall(r"[\w.]+\.\w+", behind) if separator else ():
        yield Cure(f"Write {name}", [(span.start, span.end, name)])


def _with_fields(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Adds the fields of a variant, with `_` for unknown values."""
    written = re.search(r"write (\w+\(.*\))$", problem.message)
    if written is not None:
        yield Cure(f"Write {written[1]}", [(span.start, span.end, written[1])])


# ---------------------------------------------------------------- of statements and declarations


def _cases(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Adds a case for each missing member."""
    node = _node(view, span, syntax.Match, syntax.MatchValue)
    kind = _type(view, span)
    if not isinstance(node, syntax.Match | syntax.MatchValue):
        return
    if not isinstance(kind, Nominal | Union):
        return
    source = span.source
    first, last = node.cases[0], node.cases[-1]
    column = source.position(first.span.start)[1] - 1
    separator = f"\n{source.line(first.span.line)[:column]}"
    at, body = last.span.end, "skip"
    if isinstance(node, syntax.MatchValue):
        values = [case.value.span.text for case in node.cases if not _uses_its_names(case)]
        if not values:
            return
        body = values[-1]
        if first.span.line == node.span.line:
            separator = "; "
    elif isinstance(last, syntax.Case):
        # The new cases come after any comment on the last line.
        at = last.body[-1].span.end if last.body else at
        line_end = source.text.find("\n", at)
        at = len(source.text) if line_end < 0 else line_end
    covered = {_named(case.pattern.member) for case in node.cases if not _partial(case.pattern)}
    names = (
        [(name, 0) for name in kind.members]
        if isinstance(kind, Nominal)
        else [(variant.name, len(variant.fields)) for variant in kind.variants]
    )
    heads = [
        f"{name}({', '.join('_' * fields)})" if fields else name
        for name, fields in names
        if name not in covered
    ]
    if heads:
        title = (
            f"Add {'the missing case' if len(heads) == 1 else f'the {len(heads)} missing cases'}"
        )
        lines = "".join(f"{separator}case {head}: {body}" for head in heads)
        yield Cure(title, [(at, at, lines)])
    yield Cure("Add `case _:`", [(at, at, f"{separator}case _: {body}")])


def _uses_its_names(case: syntax.ValueCase) -> bool:
    """Returns whether the value of a case uses a name that its pattern binds, or has more than one
    line.
    """
    bound = {name.text for part in walk(case.pattern) for name, _ in declared_names(part)}
    used = {part.text for part in walk(case.value) if isinstance(part, syntax.Name)}
    return bool(bound & used) or "\n" in case.value.span.text


def _named(member: syntax.Node | None) -> str:
    return member.name.text if isinstance(member, syntax.Attribute) else getattr(member, "text", "")


def _partial(pattern: syntax.Pattern) -> bool:
    """Returns whether a pattern covers only some values of its member."""
    return any(isinstance(argument, syntax.Equals) for argument in pattern.arguments or ())


def _without_case(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    node = _node(view, span, syntax.Case, syntax.ValueCase)
    if node is None:
        return
    text = span.source.text
    start, end = _lines(node.span)
    separator = text.rfind(";", start, node.span.start)
    if separator >= 0:
        start, end = separator, node.span.end
    yield Cure("Remove this case", [(start, end, "")])


def _without_item(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Removes the line of a check that repeats an item."""
    yield Cure("Remove this line", [(*_lines(span), "")])


def _lines(span: Span) -> tuple[int, int]:
    """Returns the range of the complete lines that contain a span."""
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    return start, len(text) if end < 0 else end + 1


def _capacity(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    node = _node(view, span, syntax.ChannelDecl)
    if node is not None:
        yield Cure('Add "capacity 1"', [(node.span.end, node.span.end, " capacity 1")])


def _closed(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Adds the missing closing bracket at the end of the line."""
    text = span.source.text
    line_end = text.find("\n", span.start)
    end = len(text) if line_end < 0 else line_end
    tokens = [token for token in scan(text[span.start : end]) if token.kind != COMMENT]
    depth: list[str] = []
    for token in tokens:
        if token.kind in OPENING:
            depth.append(OPENING[token.kind])
        elif token.kind in CLOSING and depth:
            depth.pop()
    if tokens and depth:
        colon = tokens[-1].kind == ":" and len(tokens) > 1
        at = span.start + (tokens[-2].end if colon else tokens[-1].end)
        missing = "".join(reversed(depth))
        yield Cure(f'Write "{missing}" at the end of the line', [(at, at, missing)])


def _indented(view: View, problem: Problem, span: Span) -> Iterator[Cure]:
    """Adds a statement where a block is missing."""
    text = span.source.text
    line_end = text.find("\n", span.start)
    end = len(text) if line_end < 0 else line_end
    start = text.rfind("\n", 0, span.start) + 1
    column = len(text[start:end]) - len(text[start:end].lstrip(" "))
    heads = ("if", "elif", "else", "for", "case", "action", "procedure")
    if text[start:end].split()[0].rstrip(":") in heads:
        indent = " " * (column + STEP)
        yield Cure("Write `skip`", [(end, end, f"\n{indent}skip")])


# ---------------------------------------------------------------- lookup in a view


def _node(view: View, span: Span, *kinds: type[syntax.Node]) -> syntax.Node | None:
    """Returns the innermost node of these kinds that contains a span, or None if there is none."""
    around = [
        node
        for node in walk(() if view.tree is None else view.tree.declarations)
        if isinstance(node, kinds) and node.span.start <= span.start and span.end <= node.span.end
    ]
    return min(around, key=lambda node: node.span.end - node.span.start, default=None)


def _type(view: View, span: Span) -> Type | None:
    return next(iter(view.references.values.get(span, ())), None)


_BY_CODE: dict[str, _Make] = {
    "F102": _closed,
    "F107": _indented,
    "F108": _colon,
    "F109": _another_sign,
    "F110": _another_sign,
    "F111": _another_sign,
    "F209": _qualified,
    "F301": _converted,
    "F302": _converted,
    "F308": _converted,
    "F311": _converted,
    "F313": _unwrapped,
    "F314": _unwrapped,
    "F317": _with_fields,
    "F408": _cases,
    "F409": _without_case,
    "F412": _capacity,
    "F823": _without_item,
}
"""The quick fixes for each problem code, in addition to suggested words."""
