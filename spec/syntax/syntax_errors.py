"""Explains syntax errors in the words of the language.

Each hint recognizes one kind of mistake from the token, its neighbours and the expected tokens. The
first hint that recognizes the mistake provides the message; if none does, `_plainly` provides it.
Hints do not decide what is an error: the grammar does.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from fencepost.spec.syntax import habits, vocabulary
from fencepost.spec.syntax.habits import Slip
from fencepost.spec.syntax.lalr import MAX_DEPTH, TooDeep, Unexpected, reserved
from fencepost.spec.syntax.tokens import (
    CLOSING,
    DOCSTRING,
    INDENT,
    INTEGER,
    LAYOUT,
    MISALIGNED,
    NAME,
    NEWLINE,
    OPENING,
    STRANGE,
    STRING,
    Token,
)
from fencepost.spec.text.problem import Note, Problem, suggestion
from fencepost.spec.text.source import Source, Span

_BREAKS = (
    "an expression continues on the next line inside brackets, and next to an operator if the next"
    " line is indented deeper"
)


def explain(source: Source, error: Unexpected) -> Problem:
    """Returns the problem for an unexpected token."""
    slip = Slip(source, error)
    problem = next((hinted for hint in _HINTS if (hinted := hint(slip))), None) or _plainly(slip)
    if slip.unexpected.kind in LAYOUT and _swallowed(slip):
        note = (None, '"#" begins a comment; "not equal" is "!="')
        problem = replace(problem, notes=(*problem.notes, note))
    return problem


def _swallowed(slip: Slip) -> bool:
    """Returns whether the line continues with a comment that may have been meant as code."""
    rest = slip.source.text[slip.near(-1).end :].partition("\n")[0]
    return re.match(r"[ \t]*#[ \t]*[-\w.{}\[\]]+[ \t]*([:)\]}]|\Z)", rest) is not None


def tla_module(source: Source, start: int, end: int) -> Problem:
    """Returns the problem for a file that is a TLA+ module, not a spec."""
    message = "this is a TLA+ module, not a spec; docs/for-tla-users.md compares both"
    return Problem("F101", Span(source, start, end), message)


def json_text(source: Source, start: int, end: int) -> Problem:
    """Returns the problem for a file that contains JSON: a trace, a recording or a report."""
    notes: tuple[Note, ...] = (
        (None, "fencepost trace show FILE prints a saved trace"),
        (None, "fencepost conform SPEC FILE compares a recording with a spec"),
    )
    return Problem("F101", Span(source, start, end), "this file is JSON, not a spec", notes)


def late_docstring(source: Source, token: Token) -> Problem:
    """Returns the problem for a triple-quoted text that is not at the start of the file."""
    message = "the text that describes a file comes first; use # for comments"
    return Problem("F123", Span(source, token.start, token.end), message)


def too_deep(source: Source, error: TooDeep) -> Problem:
    """Returns the problem for a construct with too many levels of nesting."""
    token = error.token
    if error.lets:
        message = (
            f"this block is nested more than {MAX_DEPTH} levels deep: each of"
            f" its {error.lets} let lines is a level for the lines after it"
        )
        note = "move some of them into a def"
        return Problem("F711", Span(source, token.start, token.end), message, ((None, note),))
    message = f"this is nested more than {MAX_DEPTH} levels deep"
    note = "name a part of it with let or def, or write its conjuncts as lines of a block"
    sign, operands = _longest_chain(source.text, token.start)
    if operands > MAX_DEPTH:
        message = (
            f'this chain of "{sign}" has {operands:,} operands; each nests one level deeper, and at'
            f" most {MAX_DEPTH} levels are allowed"
        )
        note = f"put brackets around parts of it, or {note}"
    return Problem("F122", Span(source, token.start, token.end), message, ((None, note),))


_CHAINED_OR_BRACKET = re.compile(r"#[^\n]*|[()\[\]{}]|\b(?:and|or|implies|else)\b|[-+*]|\n(?=\S)")


def _longest_chain(text: str, start: int) -> tuple[str, int]:
    """Returns the most frequent sign outside brackets, and the number of its operands.

    The search begins at ``start``, and stops at the end of the declaration or of the enclosing
    bracket.
    """
    counts: Counter[str] = Counter()
    depth = 0
    for match in _CHAINED_OR_BRACKET.finditer(text, start):
        sign = match[0]
        depth += (sign in OPENING) - (sign in CLOSING)
        if depth < 0 or sign == "\n":
            break
        if depth == 0 and not sign.startswith("#") and sign not in CLOSING:
            counts[sign] += 1
    return max(
        ((sign, count + 1) for sign, count in counts.items()),
        key=lambda row: row[1],
        default=("", 0),
    )


def _plainly(slip: Slip) -> Problem:
    """Returns a problem that states the unexpected token, the expected ones, and the form of the
    line.
    """
    notes: list[Note] = []
    unexpected = slip.unexpected
    if unexpected.kind == NAME and unexpected.text in reserved() and NAME in slip.expected:
        notes.append((None, f'"{unexpected.text}" is a reserved word, so it cannot be a name'))
    if form := _form(slip):
        notes.append((None, f"the form is: {form}"))
    if unexpected.kind == NEWLINE and slip.near(-1).text in vocabulary.CONTINUES:
        notes.append((None, _BREAKS))
    expected_text = vocabulary.wanted(slip.expected, slip.near(-1))
    keywords = vocabulary.special(slip.expected) | (slip.expected & vocabulary.CONNECTIVES)
    is_word = unexpected.kind == NAME and len(unexpected.text) > 1
    guess = suggestion(unexpected.text, keywords) if is_word else ""
    if not guess and "and" in slip.expected and unexpected.kind in (NAME, INTEGER):
        notes += _misspelt_before(slip)
    return slip.problem(
        "F101", f"expected {expected_text}, found {vocabulary.told(unexpected)}{guess}", *notes
    )


def _misspelt_before(slip: Slip) -> Sequence[Note]:
    """Returns a note if the word before a value may be a misspelt keyword. Most names occur more
    than once in a spec.
    """
    before = slip.near(-1)
    guess = suggestion(before.text, vocabulary.PREFIXED) if before.kind == NAME else ""
    occurs = re.findall(rf"\b{re.escape(before.text)}\b", slip.source.text)
    return [(None, f'"{before.text}" is a name{guess}')] if guess and len(occurs) == 1 else []


def _form(slip: Slip) -> str | None:
    """Returns the form of the declaration or statement that contains the unexpected token."""
    distance = -1
    while not slip.begins_line(distance):
        distance -= 1
    first = slip.near(distance).text
    special = vocabulary.special(slip.expected) or slip.expected == frozenset("{")
    if not special or (first in vocabulary.EXPRESSION_HEADS and distance < -4):
        return None
    return vocabulary.FORMS.get(first)


# ---------------------------------------------------------------- characters and lines


def _misaligned(slip: Slip) -> Problem | None:
    if slip.unexpected.kind != MISALIGNED:
        return None
    line = slip.near(1)
    start = line.start - len(slip.unexpected.text)
    span = Span(slip.source, start, max(line.start, start + 1))
    before = slip.source.text[: slip.error.tokens[0].start] + slip.source.text[:start]
    indents = {text[: len(text) - len(text.lstrip(" \t"))] for text in before.splitlines()}
    if len(set("".join(indents) + slip.unexpected.text)) > 1:
        message = "this line is indented with tabs where others have spaces, or the reverse"
        return Problem("F104", span, message, ((None, "indent with spaces, by four"),))
    message = "the indentation of this line matches none of the lines above it"
    return Problem("F106", span, message)


def _strange(slip: Slip) -> Problem | None:
    unexpected = slip.unexpected
    if unexpected.kind not in (STRANGE, "..."):
        return None
    text = unexpected.text
    if text.startswith('"'):
        quotes = '"""' if text.startswith('"""') else '"'
        message = f"this text has no closing {quotes}"
        first = Token(
            STRANGE, "", unexpected.start, min(unexpected.end, unexpected.start + len(quotes))
        )
        return slip.problem("F118", message, at=first if quotes == '"""' else unexpected)
    if text[0].isascii() and text[0].isdigit():
        message = f"{text} is not a number: numbers are decimal, like 32_767"
        return slip.problem("F120", message)
    if instead := vocabulary.FOREIGN_SIGNS.get(text):
        return slip.problem("F111", f'there is no "{text}" here; {instead}')
    if text == "'" and slip.near(-1).kind == NAME and slip.near(-1).end == unexpected.start:
        note = "in a step invariant, next(x) is the value of x after the step"
        return slip.problem("F111", "there is no ' here", (None, note))
    if text in vocabulary.QUOTES:
        return slip.problem("F119", f'write a text in double quotes, "like this", not {text}')
    if text[0].isalpha():
        message = f"{text}: names consist of the letters a to z and A to Z, digits and _"
        return slip.problem("F119", message)
    if len(text) == 1 and unicodedata.category(text)[0] in "ZC":
        message = f"there is an invisible character here, U+{ord(text):04X}; use a plain space"
        return slip.problem("F119", message)
    return slip.problem("F119", f'"{text}" has no meaning here')


def _brackets(slip: Slip) -> Problem | None:
    unexpected = slip.unexpected
    opened: list[Token] = []
    for token in slip.error.tokens[: slip.error.index]:
        if token.kind in LAYOUT:
            # An unclosed bracket is the only kind that is open at the end of a line.
            opened.clear()
        elif token.kind in OPENING:
            opened.append(token)
        elif token.kind in CLOSING and opened:
            opened.pop()
    if unexpected.kind in CLOSING:
        if not opened:
            return slip.problem("F103", f'this "{unexpected.text}" closes nothing')
        if opened[-1].kind != CLOSING[unexpected.kind]:
            note = (slip.span(opened[-1]), f'this "{opened[-1].text}" is open')
            wrong = f'"{unexpected.text}" cannot close a "{opened[-1].text}"'
            return slip.problem("F103", wrong, note)
        return None
    if opened and _never_closed(slip, len(opened)):
        note = (slip.span(unexpected), "it was still open here")
        message = f'this "{opened[-1].text}" is never closed'
        return slip.problem("F102", message, note, at=opened[-1])
    return None


def _never_closed(slip: Slip, depth: int) -> bool:
    """Returns whether the innermost of ``depth`` open brackets stays open up to the end of the
    line.
    """
    inner = depth
    for token in slip.error.tokens[slip.error.index :]:
        if token.kind in LAYOUT:
            return True
        if token.kind in OPENING:
            depth += 1
        elif token.kind in CLOSING:
            depth -= 1
            if depth < inner:
                return False
    return True


def _indentation(slip: Slip) -> Problem | None:
    unexpected = slip.unexpected
    if unexpected.kind == INDENT:
        if slip.error.index == 0:
            return slip.problem("F105", "the first line of a file is not indented", at=slip.near(1))
        message = "this line is indented deeper than the one before, which does not open a block"
        return slip.problem("F105", message, (None, _BREAKS), at=slip.near(1))
    if slip.expected == frozenset({INDENT}):
        colon = slip.near(-2)
        message = "expected an indented block on the next line"
        return slip.problem("F107", message, at=colon)
    return None


def _colon(slip: Slip) -> Problem | None:
    if slip.unexpected.kind == NEWLINE and ":" in slip.expected and slip.near(1).kind == INDENT:
        return slip.problem("F108", 'expected ":" at the end of this line')
    return None


# ---------------------------------------------------------------- signs


def _equal_signs(slip: Slip) -> Problem | None:
    unexpected = slip.unexpected.kind
    if unexpected == "=" and "==" in slip.expected:
        if slip.near(-2).kind in ("(", ",") and slip.near(-1).kind == NAME:
            field = slip.near(-1).text
            note: Note = (None, f"a field takes a colon: {field}: e")
            return slip.problem("F109", '"=" assigns; to compare, write "=="', note)
        if slip.begins_line(-1) and slip.near(-1).kind == NAME:
            note = (None, f"name a value in a line before: let {slip.near(-1).text} = e")
            return slip.problem("F109", '"=" assigns; to compare, write "=="', note)
        return slip.problem("F109", '"=" assigns; to compare, write "=="')
    if unexpected == "==" and "=" in slip.expected:
        return slip.problem("F110", '"==" compares; here write "="')
    return None


def _assigned(slip: Slip) -> Problem | None:
    """Recognizes an assignment such as `x += 1` where a condition is expected."""
    if slip.unexpected.kind not in vocabulary.CHANGES or "==" not in slip.expected:
        return None
    message = (
        f'"{slip.unexpected.text}" assigns, which is allowed only as a statement of an action or '
        "procedure"
    )
    return slip.problem("F109", message)


def _exclamation(slip: Slip) -> Problem | None:
    if slip.unexpected.kind == "!" and INTEGER in slip.expected:
        note = (None, "x! is the value of an option x that is not none")
        return slip.problem("F111", 'there is no "!" before a value; write "not"', note)
    return None


def _chained(slip: Slip) -> Problem | None:
    if slip.unexpected.text in vocabulary.COMPARISONS and "and" in slip.expected:
        note = (None, 'write "a < b and b < c", or put one comparison in parentheses')
        return slip.problem("F112", "comparisons do not chain", note)
    return None


def _not_operand(slip: Slip) -> Problem | None:
    if slip.unexpected.text == "not" and INTEGER in slip.expected and slip.unexpected.kind == NAME:
        return slip.problem("F101", '"not" needs parentheses here: (not ...)')
    return None


def _tuple(slip: Slip) -> Problem | None:
    """Recognizes `(a,)`, `()` that is not a call, and `for a, b in S`."""
    inside = slip.inside
    if slip.unexpected.kind == "," and _names_one(slip):
        names = f"({slip.near(-1).text}, {slip.near(1).text})"
        notes: list[Note] = []
        if slip.near(-2).text != "let" and not slip.begins_line(-2):
            notes.append((None, f"each name has a set of its own: {slip.near(-1).text} in S, ..."))
        return slip.problem("F101", f"a pattern for a tuple has parentheses: {names}", *notes)
    if slip.unexpected.kind != ")" or not inside or inside[0].kind != "(":
        return None
    before = slip.near(-2).kind
    empty = len(inside) == 1 and before not in (NAME, ")", "]", "!")
    if not (empty or slip.near(-1).kind == ",") or not slip.expected & {INTEGER, NAME}:
        return None
    return slip.problem("F101", "a tuple has at least two components, as in (a, b)")


def _names_one(slip: Slip) -> bool:
    """Returns whether the token before the unexpected one is a name that `for`, `let` or a
    quantifier binds, and another name follows.
    """
    is_name = slip.near(-1).kind == NAME and slip.near(1).kind == NAME
    return is_name and slip.expected <= {"in", "="} and slip.near(-2).text != ","


def _several(slip: Slip) -> Problem | None:
    """Recognizes a role with two indices, an empty group, a group to be removed, a comprehension
    without brackets, and a formula that names the constraint.
    """
    unexpected, line = slip.unexpected, [token.text for token in slip.line]
    if unexpected.kind == "," and "]" in slip.expected and "role" in line[:3]:
        note = (None, "a tuple combines several: role R[p: (A, B)], with p.1 and p.2")
        return slip.problem("F101", "a role has one index", note)
    if unexpected.kind == "}" and line[-1:] == ["{"] and "fair" in line[:2]:
        return slip.problem("F101", "a group has at least one action")
    if unexpected.kind == "{" and line == ["without", "fair"]:
        note = (None, "a group with a name can be removed: fair Name: {a, b}")
        return slip.problem("F101", "expected the name of an action, a role or a group", note)
    if unexpected.text == "for" and slip.inside[:1] and slip.inside[0].kind == "(":
        return slip.problem("F101", "put the comprehension in brackets: f([e for x in S])")
    if "within" in (unexpected.text, slip.near(-1).text) and "property" in line and ":" in line:
        message = '"within constraint" follows the name: property P within constraint: a leads to b'
        return slip.problem("F101", message)
    return None


def _braces(slip: Slip) -> Problem | None:
    if slip.unexpected.kind != ":" or "for" not in slip.expected:
        return None
    note: Note = (
        None,
        "a set is written {e for x in S if p}, a map [k: e, l: d], and a record R(f: e, g: d)",
    )
    expected_text = vocabulary.wanted(slip.expected, slip.near(-1))
    return slip.problem("F101", f'expected {expected_text}, found ":"', note)


def _fraction(slip: Slip) -> Problem | None:
    if (
        slip.unexpected.kind == INTEGER
        and slip.near(-1).kind == "."
        and slip.near(-2).kind == INTEGER
    ):
        return slip.problem("F120", "there are no fractions, only integers", at=slip.near(-2))
    return None


def _text(slip: Slip) -> Problem | None:
    if slip.unexpected.kind == DOCSTRING:
        return late_docstring(slip.source, slip.unexpected)
    if slip.unexpected.kind == STRING and INTEGER in slip.expected:
        if slip.near(-1).kind == "(" and slip.near(-2).text in vocabulary.PRINTS:
            return slip.problem("F111", vocabulary.PRINTING, at=slip.near(-2))
        message = 'a text is not a value; it is only allowed in assert e, "why"'
        return slip.problem("F125", message)
    return None


# ---------------------------------------------------------------- words


def _pattern(slip: Slip) -> Problem | None:
    if slip.unexpected.kind == INTEGER and {"none", "true", NAME} <= slip.expected - {INTEGER}:
        return slip.problem("F117", 'a number is not a pattern; compare it by "if"')
    if not ({"==", NAME} <= slip.expected - {INTEGER} and slip.unexpected.text):
        if (
            slip.unexpected.kind == "("
            and slip.expected <= {")", ","}
            and "member_name" in slip.symbols
        ):
            return slip.problem("F117", "patterns do not nest; bind the field, then match it")
        return None
    message = f'to compare this field with a value, write "==" before it: =={slip.unexpected.text}'
    return slip.problem("F117", message)


def _else_if(slip: Slip) -> Problem | None:
    unexpected, before = slip.unexpected, slip.near(-1)
    if (
        "case" in slip.expected
        and unexpected.kind == NAME
        and unexpected.text not in ("elif", "case")
    ):
        if suggestion(unexpected.text, ["case"]):
            return slip.problem(
                "F114", f'"{unexpected.text}" cannot begin a line of a match; write "case"'
            )
        note = (None, 'the form is: case A(x, ==e, _): ..., and "case _:" for all that is left')
        return slip.problem("F101", f'expected "case", found "{unexpected.text}"', note)
    if unexpected.text == "if" and before.text == "else":
        both = Token(NAME, "", before.start, unexpected.end)
        return slip.problem("F113", 'write "elif" for "else if"', at=both)
    if unexpected.kind != NAME or unexpected.text not in ("elif", "else", "case"):
        return None
    if slip.begins_line():
        owner = "match" if unexpected.text == "case" else "if"
        wrong = f'this "{unexpected.text}" belongs to no "{owner}"'
        return slip.problem("F113", wrong, (None, f'it must be directly below its "{owner}"'))
    if "then" not in slip.symbols:
        return slip.problem("F113", f'"{unexpected.text}" of a statement starts a new line')
    return None


def _value_cases(slip: Slip) -> Problem | None:
    """Recognizes cases of a match expression that are separated in a wrong way."""
    unexpected, before = slip.unexpected, [token.text for token in slip.line]
    if unexpected.text == "case" and "then" not in slip.symbols and not slip.begins_line():
        if ":" in slip.expected and "match" in before:
            return slip.problem("F101", 'expected ":", found "case"')
        if INTEGER in slip.expected and "match" not in before:
            note = (None, "the form is: match e: case A: a; case _: b")
            return slip.problem("F113", 'this "case" belongs to no "match"', note)
    if unexpected.text in ("->", "=>") and "case" in before and ":" in slip.expected:
        return slip.problem("F111", f'there is no "{unexpected.text}" here; write ":"')
    if unexpected.text == ";" and slip.near(1).text in ("default", "else", "otherwise"):
        other = f'write "case _" for "{slip.near(1).text}"'
        return slip.problem("F113", other, at=slip.near(1)) if "case" in before else None
    if unexpected.text == ";" and before[:1] == ["case"]:
        message = 'a case of a match expression has one value, and ends with its line, without ";"'
        return slip.problem("F113", message)
    if unexpected.kind == INDENT:
        # The token before the unexpected one ends the line above.
        end = slip.error.index - 1
        tokens = slip.error.tokens
        start = next((i for i in range(end, 0, -1) if tokens[i - 1].kind in LAYOUT), 0)
        before = [token.text for token in tokens[start:end]]
    if "match" not in before or "case" not in before[before.index("match") :]:
        return None
    if unexpected.kind == INDENT and slip.near(1).text == "case":
        message = "write all cases on one line, or each one on an indented line of its own"
        return slip.problem("F113", message, at=slip.near(1))
    if unexpected.text == "case" or (unexpected.text == "," and slip.near(1).text == "case"):
        return slip.problem("F113", 'cases on one line are separated by ";"')
    if unexpected.text == "then" and ":" in slip.expected:
        return slip.problem("F101", 'expected ":", found "then"', (None, "the form is: case A: e"))
    if unexpected.text == "else":
        return slip.problem("F113", 'write "case _" for "else"')
    return None


def _compound(slip: Slip) -> Problem | None:
    if slip.unexpected.text in ("if", "for", "match") and "require" in slip.expected:
        message = f'the statement "{slip.unexpected.text}" begins a line of its own'
        return slip.problem("F113", message)
    return None


def _then(slip: Slip) -> Problem | None:
    if slip.unexpected.text == "if" and "+" in slip.expected:
        if "where" in slip.expected:
            return slip.problem("F101", 'expected "where", found "if"')
        note = (None, 'a conditional value is "if a then b else c"')
        return slip.problem("F101", '"if" cannot follow a value', note)
    if slip.unexpected.kind == ":" and "then" in slip.expected:
        note = (None, 'a conditional value is "if a then b else c"')
        return slip.problem("F101", 'expected "then", found ":"', note)
    if slip.unexpected.text == "then" and ":" in slip.expected:
        note = (None, "the form is: if e: ... with its statements on the next lines")
        return slip.problem("F101", 'expected ":", found "then"', note)
    return None


def _is_member(slip: Slip) -> Problem | None:
    """Recognizes mistakes after `is`."""
    unexpected = slip.unexpected.text
    if unexpected in ("none", "true", "false") and "member_name" in slip.error.rules():
        sign = "!=" if slip.near(-1).text == "not" else "=="
        message = f'"is" asks for a member of a union; compare with "{sign} {unexpected}"'
        return slip.problem("F101", message)
    texts = [token.text for token in slip.line]
    if "is" not in texts:
        return None
    member = texts[len(texts) - texts[::-1].index("is") :]
    if member[:1] == ["not"]:
        member = member[1:]
    named = bool(member) and all(part == "." or part.isidentifier() for part in member)
    if (unexpected == "{" and not member) or (unexpected == "|" and named):
        return slip.problem("F101", '"is" asks for a single member: write "e is A or e is B"')
    if unexpected == "(" and named:
        name = "".join(member)
        notes: list[Note] = [
            (None, f"read a field after the test: m is {name} and m.x > 0"),
            (None, f"or bind it: match m: case {name}(x): x > 0; case _: false"),
        ]
        return slip.problem("F117", f'"is {name}" asks for the member, without fields', *notes)
    return None


def _binder(slip: Slip) -> Problem | None:
    """Recognizes a variant in place of the name that a quantifier or loop binds."""
    if (
        slip.unexpected.kind == "("
        and slip.expected == frozenset({"in"})
        and slip.near(-1).kind == NAME
    ):
        variant = slip.near(-1).text
        note = (None, f"select the variant by a condition: forall m in S if m is {variant}: e")
        return slip.problem("F117", 'expected a name before "in", found a pattern', note)
    return None


def _reserved(slip: Slip) -> Problem | None:
    unexpected = slip.unexpected
    if unexpected.kind != NAME or unexpected.text not in reserved() or NAME not in slip.expected:
        return None
    if INTEGER in slip.expected or slip.begins_line():
        return None
    return slip.problem("F115", f'"{unexpected.text}" is a reserved word, so it cannot be a name')


def _foreign_word(slip: Slip) -> Problem | None:
    before, unexpected = slip.near(-1), slip.unexpected
    if before.text in ("all", "exist") and unexpected.kind == NAME and "and" in slip.expected:
        forall = vocabulary.FOREIGN_WORDS[before.text]
        return slip.problem("F111", f'there is no "{before.text}"; write "{forall}"', at=before)
    instead = vocabulary.FOREIGN_WORDS.get(unexpected.text)
    if "unordered" in slip.expected:
        instead = vocabulary.DISCIPLINES.get(unexpected.text)
    if unexpected.kind == NAME and instead and unexpected.text not in slip.expected:
        # A name was found where none is possible, so it is a word of another notation.
        return slip.problem("F111", f'there is no "{unexpected.text}" here; write "{instead}"')
    return None


def _misspelt(slip: Slip) -> Problem | None:
    """Recognizes a line that begins with a misspelt keyword, or with a keyword that belongs
    elsewhere.
    """
    if slip.begins_line():
        if slip.unexpected.kind != NAME or NAME in slip.expected:
            return None
        word, allowed = slip.unexpected, slip.expected
    elif slip.begins_line(-1) and slip.near(-1).kind == NAME and "+=" in slip.expected:
        # Any name may begin a statement, so only the tokens after it reveal the mistake.
        if slip.unexpected.kind not in (NAME, INTEGER, "{", ":", NEWLINE):
            return None
        word, allowed = slip.near(-1), vocabulary.STATEMENTS | {"else", "elif"}
    else:
        return None
    # Keywords of TLA+ are in capital letters.
    lower = word.text.lower()
    if remark := vocabulary.REMARKS.get(lower[:2] if lower[:3] in ("wf_", "sf_") else lower):
        return slip.problem("F114", f'there is no "{word.text}": {remark}', at=word)
    if word.text in vocabulary.PLACES and word.text not in allowed:
        return slip.problem("F124", f'"{word.text}" {vocabulary.PLACES[word.text]}', at=word)
    if (instead := vocabulary.OTHER_NAMES.get(lower)) and instead in allowed:
        return slip.problem("F114", f'there is no "{word.text}"; write "{instead}"', at=word)
    keywords = [keyword for keyword in allowed if keyword.islower()]
    if guess := suggestion(word.text, keywords):
        return slip.problem(
            "F114", f'"{word.text}" cannot begin a {_kind(allowed)}{guess}', at=word
        )
    if "invariant" in allowed and slip.near(1).kind in vocabulary.CHANGES | {"=", ".", "(", "["}:
        message = "a statement belongs in an action or a procedure"
        return slip.problem("F124", message, at=word)
    after = slip.near(1) if word is slip.unexpected else slip.unexpected
    if after.kind == ":" and "var" in allowed:
        note = (None, f"the form is: {vocabulary.FORMS['var']}")
        return slip.problem("F114", f'"{word.text}" cannot begin a {_kind(allowed)}', note, at=word)
    if after.kind == NAME:
        return slip.problem("F114", f'"{word.text}" cannot begin a {_kind(allowed)}', at=word)
    return None


def _kind(allowed: Set[str]) -> str:
    """Returns the kind of line that may begin with these keywords."""
    if "expect" in allowed:
        return "line of a check"
    return "statement" if "require" in allowed else "declaration"


_HINTS: tuple[Callable[[Slip], Problem | None], ...] = (
    _misaligned, *habits.HINTS, _value_cases, _strange, _brackets, _indentation, _colon,
    _equal_signs, _assigned, _exclamation, _chained, _tuple, _several, _braces, _fraction, _text,
    _pattern, _is_member, _binder, _reserved, _else_if, _compound, _then, _not_operand,
    _misspelt, _foreign_word,
)  # fmt: skip
