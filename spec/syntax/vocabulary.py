"""The words of the language as used in messages, and words of related notations.

The module consists of tables: names of tokens, forms of lines, positions of words, and words and
signs from other notations.
"""

from __future__ import annotations

from collections.abc import Set

from fencepost.spec.syntax.tokens import (
    DEDENT,
    DOCSTRING,
    END,
    INDENT,
    INTEGER,
    NAME,
    NEWLINE,
    STRING,
    Token,
    word_set,
)
from fencepost.spec.text.problem import listing

STATEMENTS = word_set("require assert let pick send return skip if for match")
CHANGES = word_set("+= -= |= &=")
"""The signs of compound assignments."""
COMPARISONS = word_set("== != < <= > >= in is")
_VALUES = word_set(
    "( [ { - not if forall exists choose fold let match true false none NAME INTEGER"
)
FOLD = "fold(n, x in S from 0: n + x)"
_OPERATORS = COMPARISONS | word_set("and or not implies iff .. + - | * // % &")
CONNECTIVES = word_set("and or implies iff in is")
"""The operators between two values that are words."""
PREFIXED = word_set("not forall exists choose match always eventually")
"""Keywords before a value."""
_TAILS = word_set(". [ ( ! ? with ;")

JOINING = _OPERATORS | word_set("until then else")
"""Words and signs after which an expression may continue on the next line, as before them."""
CLAUSES = word_set("where on from to with")
"""Words before which a line may break."""
CONTINUES = (JOINING | CHANGES | {"=", ","}) - {"is"}
"""Tokens that cannot end a line. After one of them, the next line was probably meant to continue
the expression.
"""

_TOLD = {
    NEWLINE: "the end of the line",
    INDENT: "an indented block",
    DEDENT: "the end of the block",
    END: "the end of the file",
    NAME: "a name",
    INTEGER: "a number",
    STRING: "a text in double quotes",
    DOCSTRING: "a text in triple quotes",
}


def told(token: Token) -> str:
    """Returns the name of a token of the text, as used in messages."""
    if token.kind in (NEWLINE, INDENT, DEDENT, END, STRING, DOCSTRING):
        return _TOLD[token.kind]
    return f'"{token.text}"'


def wanted(expected: Set[str], before: Token) -> str:
    """Describes the tokens that could follow the token ``before``, as used in messages."""
    rest = set(expected)
    if "expect" not in rest:
        # This token occurs in arguments of scenario steps. Elsewhere, it is not what is missing.
        rest.discard("...")
    parts: list[str] = []
    if "require" in rest:
        parts.append("a statement")
        rest -= STATEMENTS | _VALUES
    elif "invariant" in rest and "var" in rest:
        parts.append("a declaration")
        rest = {symbol for symbol in rest if not symbol.islower()} - {DOCSTRING}
    elif "(" in rest and INTEGER in rest:
        parts.append(_operand(rest, before))
        rest -= _VALUES
    elif {"==", "and"} <= rest or {"+", "*"} <= rest:
        parts.append("an operator")
        rest -= _OPERATORS
    if "=" in rest:
        # One assignment sign represents them all.
        rest -= CHANGES
    if parts and parts != ["an operator"]:
        rest.discard(NEWLINE)
    if len(rest - _TAILS) + len(parts) > 0:
        rest -= _TAILS
    parts += sorted(_TOLD.get(symbol, f'"{symbol}"') for symbol in rest if symbol != DEDENT)
    return listing(parts) or _TOLD[DEDENT]


def special(expected: Set[str]) -> frozenset[str]:
    """Returns the keywords and signs that belong to a particular form, not to every value or
    statement.
    """
    return frozenset(expected - _VALUES - _OPERATORS - _TAILS - STATEMENTS - {NEWLINE, ",", ")"})


def _operand(expected: Set[str], before: Token) -> str:
    if before.kind == NAME and before.text in ("in", "for"):
        return "a set"
    if "not" not in expected and before.kind in (":", "="):
        return "a type"
    return "a value"


FORMS = {
    "import": "import m as x with N = 4",
    "from": "from m import a, b",
    "const": "const N: T = e",
    "param": "param const N: T, param type T or param channel c: M",
    "assume": "assume e",
    "type": "type T = 0..N",
    "symmetric": "symmetric type T = {a, b}",
    "enum": "enum E: A, B",
    "record": "record R: f: T, g: U",
    "union": "union M: A(x: T), B",
    "channel": "channel c: M ordered lossy capacity 4 = [m]",
    "var": "var x: T = e",
    "ghost": "ghost var x: T = e",
    "initially": "initially: e",
    "role": "role R: or role R[i: I]:",
    "action": "action a(x in S) where p on PATTERN from c where q:",
    "fair": "fair action a:, fair role R: or fair {a, R.b} where e",
    "strongly": "strongly fair action a:, strongly fair role R: or strongly fair {a, R.b}",
    "environment": "environment action a:",
    "def": "def f(x: T): U = e, or with recursion def f(x: T): U at most n = e",
    "procedure": "procedure p(x: T):",
    "invariant": "invariant I: e",
    "step": "step invariant S: e",
    "lemma": "lemma L: e",
    "reachable": "reachable W: e",
    "terminal": "terminal: e",
    "constraint": "constraint: e",
    "property": "property P: a leads to b, property P within constraint: a leads to b",
    "refinement": "refinement R: m where x = e, y = f",
    "without": "without fair R.a, S",
    "recording": "recording:",
    "key": "key f by g",
    "source": 'source s ordered in "t-*"',
    "rising": "rising offset",
    "bind": "bind client: T",
    "event": "event e(f: T) from s",
    "shows": "shows e(a, b) on R.act(x) for y in S when c",
    "input": "input e(f: T) from s when c: send M to c",
    "ahead": "ahead e when c: send M to c",
    "answers": "answers e when c on PATTERN from c: send M to c",
    "drop": "drop A, B from c",
    "hidden": "hidden R.a, S",
    "tolerate": "tolerate e when c",
    "explain": 'explain e when c: "why", x as b',
    "at": "at most 1 under way",
    "check": "check c: or check c slow:",
    "scenario": "scenario s: a; R[i].b(x, ...); ...; expect e",
    "expect": "expect ok, expect violated I, expect inconclusive, expect states == 5",
    "engine": "engine bmc, depth 20",
    "properties": "properties: A, B",
    "require": "require e",
    "assert": 'assert e, "why"',
    "let": "let y = e",
    "pick": "pick y in S where p",
    "send": "send e to c",
    "match": "match e:",
    "case": "case A(x, ==e, _):",
    "for": "for y in S:",
    "return": "return",
    "skip": "skip",
}
"""The form of a line, by its first word."""

_TOP = "is declared at the top level, in the first column"
_ROLE = "is declared at the top level or in a role"
_STATEMENT = "is a statement: it belongs in an action or a procedure"
PLACES = (
    dict.fromkeys(
        word_set(
            "import from const param assume type symmetric enum record union channel initially role"
            " refinement check scenario recording event shows input ahead answers drop hidden"
            " tolerate explain at"
        ),
        _TOP,
    )
    | dict.fromkeys(
        word_set(
            "var ghost action fair strongly environment def procedure invariant step lemma"
            " reachable terminal constraint property"
        ),
        _ROLE,
    )
    | dict.fromkeys(STATEMENTS, _STATEMENT)
    | {"let": "belongs in an action or a procedure, or at the start of a block of conditions"}
    | dict.fromkeys(word_set("engine properties without"), "belongs in a check")
    | {"expect": "belongs in a check, or at the end of a scenario"}
    | dict.fromkeys(word_set("key source rising bind"), "belongs in a recording")
)
"""The positions at which a line may occur, by its first word."""

EXPRESSION_HEADS = word_set(
    "invariant step lemma reachable terminal constraint initially assume property"
)
"""The first words of lines that consist of an expression after the first few tokens."""

OTHER_NAMES = {
    "await": "require", "when": "require", "guard": "require", "assume": "require",
    "constant": "const", "constants": "const", "val": "const", "parameter": "param",
    "variable": "var", "variables": "var", "state": "var",
    "struct": "record", "class": "role", "process": "role", "actor": "role", "proctype": "role",
    "fn": "def", "func": "def", "fun": "def", "function": "def", "operator": "def",
    "init": "initially", "include": "import", "use": "import", "open": "import",
    "safety": "invariant", "always": "invariant", "theorem": "invariant", "never": "invariant",
    "liveness": "property", "transition": "action", "rule": "action",
    "proc": "procedure", "sub": "procedure", "message": "union", "messages": "union",
    "test": "check", "run": "check", "switch": "match", "foreach": "for",
    "pass": "skip", "noop": "skip", "choose": "pick", "select": "pick", "emit": "send",
    "exit": "return", "break": "return", "elsif": "elif", "elseif": "elif",
}  # fmt: skip
"""Words of other notations for a declaration or statement, with the equivalent here."""

REMARKS = {
    "module": "a file is a module",
    "spec": "a file is a spec",
    "extends": "use import to name another file",
    "instance": "use import to name another file, as in import m as x with N = 4",
    "next": "actions define the possible steps",
    "while": 'a step ends, so "for x in S:" goes through a finite set; an action is taken again',
    "receive": "an action receives through its head, action a on PATTERN from c",
    "wf": "write fair action a:, or fair {a, b} for a group",
    "weak": "write fair action a:, or fair {a, b} for a group",
    "weakly": "write fair action a:, or fair {a, b} for a group",
    "sf": "write strongly fair action a:, or strongly fair {a, b} for a group",
    "recursive": "a def with a bound may call itself, as in def f(x: T): U at most n = e",
    "view": "states are compared as a whole; leave out what no action and no property reads",
    "action_constraint": 'use a "require" in the actions',
    "symmetry": "write symmetric type T = {a, b}",
    "shared": "declare a variable that several roles assign at the top level",
}
"""Words of other notations that have no equivalent here."""

FOREIGN_WORDS = {
    "AND": "and", "OR": "or", "NOT": "not", "mod": "%", "MOD": "%", "div": "//", "DIV": "//",
    "xor": "!=", "XOR": "!=", "union": "|", "UNION": "|", "intersect": "&", "all": "forall",
    "exist": "exists", "IN": "in", "IF": "if", "THEN": "then", "ELSE": "else",
}  # fmt: skip
"""Operators of other notations that are words, with the equivalent here."""

DISCIPLINES = {
    "unique": "distinct", "set": "distinct", "fifo": "ordered", "queue": "ordered",
    "bag": "unordered", "multiset": "unordered",
}  # fmt: skip
"""Words of other notations for channel disciplines, with the equivalent here."""

_SUBSET = 'write "<="'
GENERATORS = "the form is: {e for x in S, y in T if p}"
SEVERAL_FIELDS = 'put a "with" of several fields in brackets here: (r with f: a, g: b)'
BETWEEN = {
    "subset": _SUBSET, "subseteq": _SUBSET, "issubset": _SUBSET,
    "contains": 'write "x in s"', "divides": 'write "b % a == 0"',
}  # fmt: skip
"""Words that other notations use between two operands, with advice."""

ALWAYS = 'use "always" in a property'
FORMULA = "it belongs in the formula of a property, not inside a comparison or a value"
UNION = "write a | b for two sets, and {x for s in S, x in s} for a set S of sets"
PREFIXES = {
    "UNION": UNION, "union": UNION,
    "SUBSET": 'write "subsets(S)"',
    "DOMAIN": 'write "indices(q)" for a sequence; a map has a value for each of its key type',
    "UNCHANGED": "unassigned variables keep their values, so omit this",
    "ENABLED": 'write "enabled(a)"',
    "always": FORMULA, "eventually": FORMULA,
    "CHOOSE": 'write "choose x in S where p"',
    "EXCEPT": 'write "r with f: e"; an action assigns: m[k] = e',
    "switch": 'write "match e: case A: a; case _: b"',
    "lambda": "a function is declared, as in def f(x: T): U = e",
}  # fmt: skip
"""Words that other notations use before an operand, with advice."""

_ANGLES = "a sequence is written [a, b], the empty one [], and a tuple (a, b)"
_TIMES = "the type of tuples with components of types P and Q is (P, Q)"
FOREIGN_SIGNS = {
    ":=": 'write "="', "~>": 'write "leads to"',
    "&&": 'write "and"', "||": 'write "or"', "=>": 'write "implies"',
    "->": 'a result type follows a colon; between conditions, write "implies"',
    "<=>": 'write "iff"', "<>": 'write "!="', "===": 'write "=="', "/": 'write "//"',
    "<<": _ANGLES, ">>": _ANGLES,
    "**": "write the product", "...": 'write ".." for a range',
    "/\\": 'write "and"', "\\/": 'write "or"',
    "\\in": 'write "in"', "\\notin": 'write "not in"', "\\A": 'write "forall"',
    "\\E": 'write "exists"', "\\union": 'write "|"', "\\cup": 'write "|"', "\\cap": 'write "&"',
    "\\subseteq": _SUBSET, "\\subset": 'write "<"', "⊆": _SUBSET, "⊂": 'write "<"',
    "\\land": 'write "and"', "\\lor": 'write "or"', "\\lnot": 'write "not"', "\\neg": 'write "not"',
    "\\leq": 'write "<="', "\\geq": 'write ">="', "\\neq": 'write "!="', "\\equiv": 'write "iff"',
    "\\o": 'write "+"', "\\X": _TIMES, "\\times": _TIMES,
    "\\intersect": 'write "&"', "\\div": 'write "//"',
    "\\": "a line may be broken inside brackets and next to an operator",
    "~": 'write "not"', "^": "there are no powers", "@": "this sign has no meaning",
    "$": "this sign has no meaning", "∧": 'write "and"', "∨": 'write "or"',
    "¬": 'write "not"', "∀": 'write "forall"', "∃": 'write "exists"', "∈": 'write "in"',
    "∉": 'write "not in"', "≤": 'write "<="', "≥": 'write ">="', "≠": 'write "!="',
    "⇒": 'write "implies"', "→": 'write "implies"', "⇔": 'write "iff"', "∪": 'write "|"',
    "∩": 'write "&"', "×": f'write "*"; {_TIMES}', "−": 'write "-"', "–": 'write "-"',
    "…": 'write ".."', "≔": 'write "="',
}  # fmt: skip
"""Signs of other notations, with advice."""

PRINTING = (
    "there is no printing; a trace shows every variable, and a ghost variable can record more"
)
PRINTS = word_set("print printf println echo log logger console")
"""Names of functions and objects that print."""

QUOTES = frozenset("'`“”‘’«»„")
