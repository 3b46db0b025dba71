"""Statements: bodies of actions and procedures, from the surface tree to the typed core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from fencepost.spec import arithmetic, channels, ir, syntax
from fencepost.spec.calls import METHODS, argument_values
from fencepost.spec.channels import Opening
from fencepost.spec.defined import coerced, size
from fencepost.spec.elaboration import Context, role_locals
from fencepost.spec.entities import BrokenEntity, Operand, ProcedureEntity
from fencepost.spec.expressions import elements, going_through, set_of, truth
from fencepost.spec.flow import mentions, when
from fencepost.spec.patterns import Match, matched, missing_members
from fencepost.spec.places import Place, ordinary, place
from fencepost.spec.problem import suggestion
from fencepost.spec.resolve import module_member
from fencepost.spec.source import Span
from fencepost.spec.types import Bag, Int, Seq, Set, Type, Union, describe

NOTHING = ir.Sequence(())


def suite(context: Context, statements: syntax.Suite) -> ir.Statement:
    """The statements one after the other; names bound by one are known to those after it."""
    parts: list[ir.Statement | Opening] = []
    for number, statement in enumerate(statements):
        part, context = _statement(context, statement)
        if part is not None:
            parts.append(part)
        if ends(statement) and number + 1 < len(statements):
            context.report(
                "F407", statements[number + 1].span, "this is never reached: a return stands before"
            )
            break
    return assembled(parts)


def assembled(parts: Sequence[ir.Statement | Opening]) -> ir.Statement:
    """Statements in order, where an opening takes all that follows as its body."""
    rest: list[ir.Statement] = []
    for part in reversed(parts):
        if callable(part):
            rest = [part(_sequence(rest))]
        else:
            rest.insert(0, part)
    return _sequence(rest)


def _sequence(statements: list[ir.Statement]) -> ir.Statement:
    return statements[0] if len(statements) == 1 else ir.Sequence(tuple(statements))


def ends(statement: syntax.Statement) -> bool:
    """Whether nothing behind ``statement`` is reached."""
    match statement:
        case syntax.Return():
            return True
        case syntax.If(branches=branches, otherwise=otherwise):
            bodies = [branch.body for branch in branches]
            return otherwise is not None and all(_ended(body) for body in [*bodies, otherwise])
        case syntax.Match(cases=cases):
            return bool(cases) and all(_ended(case.body) for case in cases)
        case _:
            return False


def _ended(body: syntax.Suite) -> bool:
    return any(ends(statement) for statement in body)


Result = tuple[ir.Statement | Opening | None, Context]


def _statement(context: Context, node: syntax.Statement) -> Result:
    match node:
        case syntax.Require():
            return _require(context, node)
        case syntax.Assert():
            return _assert(context, node), context
        case syntax.Assign():
            return _assign(context, node)
        case syntax.Let():
            return _let(context, node)
        case syntax.Pick():
            return pick(context, node.binder, node.condition, node.span)
        case syntax.Send():
            sent = channels.send(context, node)
            return sent, forget(context, [sent])
        case syntax.Do():
            return _do(context, node)
        case syntax.Return():
            assert context.returns is not None
            return ir.Leave(context.returns, span=node.span), context
        case syntax.Skip():
            return None, context
        case syntax.If():
            return _if(context, node)
        case syntax.Match():
            return _match(context, node)
        case syntax.For():
            return _for(context, node)
        case _:
            assert_never(node)


def _require(context: Context, node: syntax.Require) -> Result:
    condition = truth(context, node.condition)
    if condition is None:
        return None, context
    ordinary(context, condition, node.span, "a guard")
    text = " ".join(node.condition.span.text.split())
    mark = context.mark("guard", node.condition.span, context.action, text)
    test = ir.Witness(mark, condition.expr, span=node.condition.span)
    guard = context.guard("require", node.span)
    known = context.learn(when(condition.expr, True))
    return ir.Require(test, guard, span=node.span), known


def _assert(context: Context, node: syntax.Assert) -> ir.Statement | None:
    condition = truth(context, node.condition)
    if condition is None:
        return None
    message = node.message or "the assertion is false"
    site = context.site("F908", node.condition.span, message)
    return ir.Assert(condition.expr, site, span=node.span)


def _let(context: Context, node: syntax.Let) -> Result:
    operand = context.expression(node.value)
    if operand is None:
        return None, context.bind(node.name, None)
    expr = operand.expr
    if isinstance(expr, ir.Literal | ir.Local):
        # Nothing can change it, so the name is another one for the same.
        return None, context.bind(node.name, Operand(expr, operand.ghost))
    slot = context.work.slot()
    local = ir.Local(expr.type, slot, span=node.name.span)
    known = context.facts.get(expr)
    inner = context.bind(node.name, Operand(local, operand.ghost))
    if known is not None:
        inner = inner.learn({local: known})
    return lambda rest: ir.Bind(slot, expr, rest, span=node.span), inner


def pick(
    context: Context, binder: syntax.Binder, condition: syntax.Expr | None, span: Span
) -> Result:
    """``pick y in S where p``, or a parameter of an action."""
    domain = elements(context, binder.domain)
    if domain is None:
        return None, context.bind(binder.name, None)
    assert isinstance(domain.type, Set | Seq | Bag)
    ordinary(context, domain, binder.domain.span, "a choice")
    slot = context.work.slot()
    kind = domain.type.element
    local = ir.Local(kind, slot, span=binder.name.span)
    inner = context.bind(binder.name, Operand(local))
    test = None if condition is None else truth(inner, condition)
    if condition is not None and test is None:
        return None, inner
    if test is not None:
        ordinary(context, test, span, "a choice")
        inner = inner.learn(when(test.expr, True))
    guard = context.guard("choice", span)
    test_expr = test.expr if test else None

    def opening(rest: ir.Statement) -> ir.Statement:
        return ir.Pick(slot, domain.expr, test_expr, guard, binder.name.text, rest, span=span)

    return opening, inner


# ---------------------------------------------------------------- assignment


def _wrapped(target: Place, statement: ir.Statement) -> ir.Statement:
    """``statement`` behind what has to be evaluated and checked to reach the place."""
    for part in reversed(target.prelude):
        if isinstance(part, tuple):
            statement = ir.Bind(part[0], part[1], statement)
        else:
            statement = ir.Sequence((part, statement))
    return statement


def _assign(context: Context, node: syntax.Assign) -> Result:
    target = place(context, node.target)
    wanted = target.type if target else None
    operand = context.expression(node.value, wanted)
    if target is None or operand is None:
        return None, context
    if node.operator != "=":
        left = Operand(target.read)
        operand = arithmetic.combined(context, node.operator[0], left, operand, node.span)
    return _store(context, target, operand, node.value.span, node.span)


def _store(
    context: Context, target: Place, operand: Operand | None, value_span: Span, span: Span
) -> Result:
    value = coerced(context, operand, target.type, value_span, target.holder, target.note)
    if value is None:
        return None, context
    if not target.ghost:
        ordinary(context, value, value_span, f"{target.holder}, which is no ghost,")
    stored = _wrapped(target, ir.Assign(target.variable, target.path, value.expr, span=span))
    known = context.facts.get(value.expr)
    context = forget(context, [stored])
    if known is not None and not target.path:
        context = context.learn({target.read: known})
    return stored, context


def forget(context: Context, statements: Sequence[ir.Statement | None]) -> Context:
    """The context after statements ran: what was known of variables they assign is not."""
    changed = {index for statement in statements for index in assigned(statement)}
    if not changed or not context.facts:
        return context
    facts = {
        expr: tags
        for expr, tags in context.facts.items()
        if not any(mentions(expr, index) for index in changed)
    }
    return replace(context, facts=facts)


def assigned(statement: ir.Statement | None) -> Iterator[int]:
    """The variables that a statement may assign."""
    match statement:
        case None | ir.Require() | ir.Assert() | ir.Ensure() | ir.Leave() | ir.Mark():
            return
        case ir.Assign(variable=variable):
            yield variable
        case ir.Sequence(statements):
            for inner in statements:
                yield from assigned(inner)
        case ir.If(then=then, otherwise=otherwise):
            yield from assigned(then)
            yield from assigned(otherwise)
        case ir.Bind(body=body) | ir.Pick(body=body) | ir.ForEach(body=body) | ir.Block(body=body):
            yield from assigned(body)
        case _:
            assert_never(statement)


# ---------------------------------------------------------------- calls


def _do(context: Context, node: syntax.Do) -> Result:
    call = node.call
    if not isinstance(call, syntax.Call):
        context.report(
            "F414", node.span, "this is an expression, not a statement; it would do nothing"
        )
        return None, context
    function = call.function
    entity: object = None
    if isinstance(function, syntax.Name):
        entity = None if function.text in context.locals else context.find(function.text)
        if entity is None:
            names = [*context.known()]
            if function.text not in context.module.file.broken.names:
                context.report(
                    "F201",
                    function.span,
                    f'no procedure "{function.text}" is known here'
                    + suggestion(function.text, names),
                )
            return None, context
    elif isinstance(function, syntax.Attribute):
        entity = module_member(context, function)
        if entity is None:
            return _method(context, call, function)
    if isinstance(entity, ProcedureEntity):
        return procedure(context, entity, call)
    if not isinstance(entity, BrokenEntity):
        context.report(
            "F414",
            node.span,
            f"a statement calls a procedure, or changes a variable by .{', .'.join(METHODS)}",
        )
    return None, context


def procedure(context: Context, entity: ProcedureEntity, call: syntax.Call) -> Result:
    """A call of a procedure: its statements, with the parameters bound by value."""
    entity.used = True
    span = call.span
    if entity in context.expanding:
        context.work.report(
            "F213",
            span,
            f'"{entity.name}" calls itself; recursion has no bound that could be checked',
            (entity.span, f'"{entity.name}" is declared here'),
        )
        return None, context
    if entity.role is not None and entity.role is not context.role:
        context.report(
            "F214", span, f'"{entity.name}" belongs to role {entity.role.name} and is known there'
        )
        return None, context
    context.work.expand(span)
    label = context.work.label()
    inside = replace(
        context,
        module=entity.module,
        role=entity.role,
        instance=context.instance if entity.role is not None else None,
        locals=role_locals(entity.role, context.instance),
        calls=(*context.calls, span),
        expanding=(*context.expanding, entity),
        returns=label,
    )
    operands = argument_values(
        context, inside, entity.name, entity.decl.parameters, call.arguments, span
    )
    if operands is None:
        return None, context
    bindings: list[tuple[int, ir.Expr]] = []
    for parameter, operand in zip(entity.decl.parameters, operands, strict=True):
        expr = operand.expr
        if not isinstance(expr, ir.Literal | ir.Local):
            slot = context.work.slot()
            bindings.append((slot, expr))
            expr = ir.Local(expr.type, slot, span=parameter.name.span)
        inside = inside.bind(parameter.name, Operand(expr, operand.ghost))
    body = blocked(label, suite(inside, entity.decl.body))
    for slot, value in reversed(bindings):
        body = ir.Bind(slot, value, body, span=span)
    return body, forget(context, [body])


def blocked(label: int, body: ir.Statement) -> ir.Statement:
    """``body`` in a block, if it leaves one."""
    return ir.Block(label, body) if _leaves(body, label) else body


def _leaves(statement: ir.Statement, label: int) -> bool:
    match statement:
        case ir.Leave(label=other):
            return other == label
        case ir.Sequence(statements):
            return any(_leaves(inner, label) for inner in statements)
        case ir.If(then=then, otherwise=otherwise):
            return _leaves(then, label) or _leaves(otherwise, label)
        case ir.Bind(body=body) | ir.Pick(body=body) | ir.ForEach(body=body) | ir.Block(body=body):
            return _leaves(body, label)
        case _:
            return False


def _method(context: Context, call: syntax.Call, function: syntax.Attribute) -> Result:
    name = function.name.text
    if name not in METHODS:
        context.report(
            "F415",
            function.name.span,
            f'variables have no method "{name}"{suggestion(name, METHODS)}',
        )
        return None, context
    target = place(context, function.base)
    if target is None:
        return None, context
    kind = target.type
    fits = {
        "add": isinstance(kind, Set | Bag),
        "remove": isinstance(kind, Set | Bag),
        "append": isinstance(kind, Seq),
        "pop_first": isinstance(kind, Seq),
        "clear": isinstance(kind, Set | Seq | Bag),
    }
    if not fits[name] or not isinstance(kind, Set | Seq | Bag):
        able = [method for method in METHODS if fits[method]]
        hint = f"; it has .{', .'.join(able)}" if able else ""
        context.report(
            "F415", function.span, f"{describe(kind)} has no method {name}{hint}", target.note
        )
        return None, context
    wanted = 0 if name in ("pop_first", "clear") else 1
    if len(call.arguments) != wanted:
        context.report(
            "F321",
            call.span,
            f"{name} takes {wanted} argument{'' if wanted == 1 else 's'}, and"
            f" {len(call.arguments)} are given",
        )
        return None, context
    if wanted == 0:
        return _shrunk(context, target, kind, name, call.span)
    return _with_element(context, target, kind, name, call)


def _shrunk(context: Context, target: Place, kind: Type, name: str, span: Span) -> Result:
    if name == "clear":
        return _store(context, target, Operand(ir.Literal(kind, (), span=span)), span, span)
    site = context.site("F903", span, "the sequence is empty")
    zero = ir.Literal(Int(0, 0), 0)
    removed = ir.RemoveAt(kind, target.read, zero, span=span)
    nonempty = ir.Less(zero, size(target.read), span=span)
    expr = ir.Demand(kind, nonempty, site, removed, span=span)
    return _store(context, target, Operand(expr), span, span)


def _with_element(
    context: Context, target: Place, kind: Set | Seq | Bag, name: str, call: syntax.Call
) -> Result:
    written = call.arguments[0].value
    element = kind.element
    holder = f"an element of {target.holder}"
    operand = context.expression(written, element)
    if name != "remove":
        operand = coerced(context, operand, element, written.span, holder, target.note)
    elif operand is not None and operand.type != element:
        # What cannot be in the collection need not be taken out, so a wider range is fine.
        if not isinstance(operand.type, Int) or not isinstance(element, Int):
            operand = coerced(context, operand, element, written.span, holder, target.note)
        else:
            return _removed_if_fits(context, target, operand, call.span)
    if operand is None:
        return None, context
    slot = context.work.slot()
    local = ir.Local(element, slot, span=written.span)
    if name == "remove":
        changed: ir.Expr = ir.Remove(kind, target.read, local, span=call.span)
    else:
        changed = _added(context, target, kind, local, call.span)
    expr = ir.Let(kind, slot, operand.expr, changed, span=call.span)
    return _store(context, target, Operand(expr, operand.ghost), call.span, call.span)


def _removed_if_fits(context: Context, target: Place, operand: Operand, span: Span) -> Result:
    kind = target.type
    assert isinstance(kind, Set | Bag)
    slot = context.work.slot()
    local = ir.Local(operand.type, slot, span=operand.expr.span)
    removed = ir.Remove(kind, target.read, ir.Convert(kind.element, local), span=span)
    fits = ir.Fits(local, kind.element, span=span)
    expr = ir.Let(
        kind,
        slot,
        operand.expr,
        ir.Conditional(kind, fits, removed, target.read, span=span),
        span=span,
    )
    return _store(context, target, Operand(expr, operand.ghost), span, span)


def _added(
    context: Context, target: Place, kind: Set | Seq | Bag, element: ir.Expr, span: Span
) -> ir.Expr:
    added = ir.Add(kind, target.read, element, span=span)
    if kind.capacity is None:
        return added
    site = context.site("F902", span, f"{target.holder} is full: its capacity is {kind.capacity}")
    capacity = ir.Literal(Int(kind.capacity, kind.capacity), kind.capacity)
    room: ir.Expr = ir.Less(size(target.read), capacity, span=span)
    if isinstance(kind, Set):
        room = ir.Or((ir.Contains(target.read, element), room), span=span)
    return ir.Demand(kind, room, site, added, span=span)


# ---------------------------------------------------------------- branches and loops


def _marked(context: Context, span: Span, text: str, body: ir.Statement) -> ir.Statement:
    mark = context.mark("branch", span, context.action, text)
    parts = body.statements if isinstance(body, ir.Sequence) else (body,)
    return ir.Sequence((ir.Mark(mark, span=span), *parts))


def _if(context: Context, node: syntax.If) -> Result:
    branches: list[tuple[ir.Expr | None, ir.Statement]] = []
    inner = context
    after = context
    for number, branch in enumerate(node.branches):
        condition = truth(inner, branch.condition)
        yes = inner
        if condition is not None:
            ordinary(inner, condition, branch.condition.span, "a branch")
            yes = inner.learn(when(condition.expr, True))
            inner = inner.learn(when(condition.expr, False))
            if _ended(branch.body):
                # Behind the statement, the conditions of branches that return are false.
                after = after.learn(when(condition.expr, False))
        body = suite(yes, branch.body)
        text = " ".join(branch.condition.span.text.split())
        word = "elif" if number else "if"
        body = _marked(context, branch.condition.span, f"{word} {text}", body)
        branches.append((condition.expr if condition else None, body))
    result: ir.Statement = NOTHING
    if node.otherwise is not None:
        span = node.otherwise[0].span
        result = _marked(context, span, "else", suite(inner, node.otherwise))
    for test, body in reversed(branches):
        if test is not None:
            result = ir.If(test, body, result, span=node.span)
    return result, forget(after, [result])


def _match(context: Context, node: syntax.Match) -> Result:
    operand = context.expression(node.subject)
    if operand is None:
        return None, context
    ordinary(context, operand, node.subject.span, "a branch")
    subject = operand.expr
    binding: tuple[int, ir.Expr] | None = None
    inner = context
    if not isinstance(subject, ir.Local):
        slot = context.work.slot()
        binding = (slot, subject)
        local = ir.Local(subject.type, slot, span=node.subject.span)
        if subject in context.facts:
            inner = inner.learn({local: context.facts[subject]})
        subject = local
    kind = operand.type
    seen: set[int] = set()
    every = False
    cases: list[tuple[ir.Expr | None, ir.Statement]] = []
    for case in node.cases:
        if every or not missing_members(kind, seen):
            context.report(
                "F409", case.pattern.span, "this case is never reached: those before cover all"
            )
            break
        match = matched(inner, case.pattern, Operand(subject))
        if match is None:
            # What it was meant to cover is unknown, so nothing is said about what is missing.
            every = True
            continue
        _check_reached(context, case, match, seen)
        if match.ghost is not None:
            ordinary(context, Operand(subject, match.ghost), case.pattern.span, "a branch")
        known = match.context
        if isinstance(kind, Union) and match.members is not None and binding is not None:
            known = known.learn({binding[1]: match.members})
        body = suite(known, case.body)
        text = " ".join(case.pattern.span.text.split())
        cases.append((match.test, _marked(context, case.pattern.span, f"case {text}", body)))
        if match.certain:
            every = every or match.members is None
            seen |= match.members or set()
    missing = [] if every else missing_members(kind, seen)
    if missing:
        context.report("F408", node.subject.span, f"no case covers {', '.join(missing)}")
    result: ir.Statement = NOTHING
    for test, body in reversed(cases):
        result = body if test is None else ir.If(test, body, result, span=node.span)
    if binding is not None:
        result = ir.Bind(binding[0], binding[1], result, span=node.span)
    return result, forget(context, [result])


def _check_reached(context: Context, case: syntax.Case, match: Match, seen: set[int]) -> None:
    if match.members is not None and match.members <= seen:
        context.report(
            "F409", case.pattern.span, "this case is never reached: one before covers it"
        )


def _for(context: Context, node: syntax.For) -> Result:
    domain = elements(context, node.binder.domain)
    # What is known of variables may change from one round to the next.
    known = {e: tags for e, tags in context.facts.items() if isinstance(e, ir.Local)}
    inner = replace(context, facts=known)
    if domain is None:
        suite(inner.bind(node.binder.name, None), node.body)
        return None, context
    ghost = domain.ghost or going_through(domain.type, node.binder.span)
    if ghost is not None:
        ordinary(context, Operand(domain.expr, ghost), node.binder.span, "a loop")
    assert isinstance(domain.type, Set | Seq | Bag)
    slot = context.work.slot()
    local = ir.Local(domain.type.element, slot, span=node.binder.name.span)
    body = suite(inner.bind(node.binder.name, Operand(local)), node.body)
    result = ir.ForEach(slot, domain.expr, body, span=node.span)
    return result, forget(context, [result])


__all__ = ["assembled", "blocked", "pick", "procedure", "set_of", "suite"]
