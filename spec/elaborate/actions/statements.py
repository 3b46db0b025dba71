"""Elaborates statements, which form the bodies of actions and procedures, from the surface tree to
the typed core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import may_leave
from fencepost.spec.elaborate.actions import assignments
from fencepost.spec.elaborate.actions.assignments import Result, forget
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.ghosts import going_through, ordinary
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    Entity,
    Opening,
    Operand,
    ProcedureEntity,
    kind_of,
)
from fencepost.spec.elaborate.types.narrowing import bound_to, when
from fencepost.spec.elaborate.types.type_expressions import module_member
from fencepost.spec.elaborate.values import channels
from fencepost.spec.elaborate.values.boolean import known, truth
from fencepost.spec.elaborate.values.collections import drawn, elements
from fencepost.spec.elaborate.values.defs import entered
from fencepost.spec.elaborate.values.functions import METHODS
from fencepost.spec.elaborate.values.matches import bound_subject, matched_cases
from fencepost.spec.elaborate.values.parameters import bound_arguments
from fencepost.spec.elaborate.values.patterns import bind
from fencepost.spec.elaborate.values.roles import member, through
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing
from fencepost.spec.text.source import Span

NOTHING = ir.Sequence(())


def suite(context: Context, statements: syntax.Suite) -> ir.Statement:
    """Elaborates statements in order. Names that a statement binds are visible in the statements
    after it.
    """
    parts: list[ir.Statement | Opening] = []
    reached = True
    opened = 0
    for statement, following in zip(statements, [*statements[1:], None], strict=True):
        context.work.descend(statement.span, bool(context.calls))
        part, context = _statement(context, statement)
        context.work.ascend()
        if part is not None and reached:
            parts.append(part)
            opened += callable(part)
            context.work.limit(opened, statement.span)
        if following is None:
            break
        if ends(statement):
            message = "this is unreachable: the statement before it always returns"
            context.report("F407", following.span, message, (statement.span, "it returns here"))
            break
        if part is not None and not callable(part) and leaves(part):
            # Constants decide that the statements after this one never run. They are checked, but
            # are not part of this model.
            context = context.unreached()
            reached = False
    return assembled(parts)


def assembled(parts: Sequence[ir.Statement | Opening]) -> ir.Statement:
    """Combines statements in order. The body of an opening consists of everything after it."""
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
    """Returns whether ``statement`` makes the statements after it unreachable for all values of
    constants.
    """
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


def leaves(statement: ir.Statement) -> bool:
    """Returns whether, given the values of constants, the statements after this one in its block
    never run.
    """
    match statement:
        case ir.Leave():
            return True
        case ir.Require(condition) | ir.Assert(condition):
            return known(condition) is False
        case ir.Sequence(statements):
            return any(leaves(inner) for inner in statements)
        case ir.If(then=then, otherwise=otherwise):
            return leaves(then) and leaves(otherwise)
        case ir.Bind(body=body) | ir.Pick(body=body):
            return leaves(body)
        case _:
            # A loop may run zero times. After a block is left, execution continues after the block.
            return False


def _statement(context: Context, node: syntax.Statement) -> Result:
    match node:
        case syntax.Require():
            return _require(context, node)
        case syntax.Assert():
            return _assert(context, node), context
        case syntax.Assign():
            return assignments.assign(context, node)
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
    ordinary(context, condition, "a guard", node.condition.span)
    guard = context.guard("require", node.span)
    if known(condition.expr) is not None:
        # The condition is constant, so a coverage mark would say nothing about the run.
        return ir.Require(condition.expr, guard, span=node.span), context
    text = " ".join(node.condition.span.text.split())
    mark = context.mark("guard", node.condition.span, context.action, text)
    test = ir.Witness(mark, condition.expr, span=node.condition.span)
    learned = context.learn(when(condition.expr, True))
    return ir.Require(test, guard, span=node.span), learned


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
        return None, bind(context, node.target, None)
    expr = operand.expr
    if isinstance(expr, ir.Literal | ir.Local):
        # The value cannot change, so the name is an alias.
        return None, bind(context, node.target, Operand(expr, operand.ghost))
    slot = context.work.slot()
    local = ir.Local(expr.type, slot, span=node.target.span)
    inner = bound_to(bind(context, node.target, Operand(local, operand.ghost)), local, expr)
    return lambda rest: ir.Bind(slot, expr, rest, span=node.span), inner


def pick(
    context: Context, binder: syntax.Binder, condition: syntax.Expr | None, span: Span
) -> Result:
    """Elaborates ``pick y in S where p``, or a parameter of an action."""
    domain = elements(context, binder.domain)
    if domain is not None:
        ordinary(context, domain, "a choice", binder.domain.span)
    slot, inner = drawn(context, binder, domain)
    test = None if condition is None else truth(inner, condition)
    if domain is None or (condition is not None and test is None):
        return None, inner
    if condition is not None and test is not None:
        ordinary(context, test, "a choice", condition.span)
        inner = inner.learn(when(test.expr, True))
    guard = context.guard("choice", span)
    test_expr = test.expr if test else None

    def opening(rest: ir.Statement) -> ir.Statement:
        return ir.Pick(slot, domain.expr, test_expr, guard, binder.label, rest, span=span)

    return opening, inner


# ---------------------------------------------------------------- calls


def _do(context: Context, node: syntax.Do) -> Result:
    call = node.call
    function = call.function
    entity: Entity | None = None
    if isinstance(function, syntax.Name):
        if function.text not in context.locals:
            entity = context.look_up(function)
            if entity is None and not context.members(function.text):
                context.unknown(function, "procedure", kinds=(ProcedureEntity,))
                return None, context
    elif isinstance(function, syntax.Attribute):
        entity = module_member(context, function)
        if entity is None:
            seen = through(context, function)
            if seen is None:
                return assignments.method(context, call, function)
            entity = member(context, seen.role, function.name)
            if entity is None:
                return None, context
    if isinstance(entity, ProcedureEntity):
        return _procedure(context, entity, call)
    if not isinstance(entity, BrokenEntity):
        actual = ""
        if entity is not None:
            actual = f', and "{entity.name}" is {kind_of(entity)}'
        message = f"a statement calls a procedure, or changes a variable by {_METHODS}{actual}"
        context.report("F414", node.span, message)
    return None, context


_METHODS = listing([f".{name}(...)" for name in METHODS])


def _procedure(context: Context, entity: ProcedureEntity, call: syntax.Call) -> Result:
    """Elaborates a procedure call as the statements of the procedure's body. Parameters are bound
    by value.
    """
    entity.used = True
    if entity.role is not None and entity.role is not context.role:
        context.report(
            "F214",
            call.span,
            f'only role {entity.role.name} calls its procedure "{entity.name}"',
            entity.note,
        )
        return None, context
    instance = context.instance if entity.role is not None else None
    inside = entered(context, entity, instance, call.span)
    bindings = bound_arguments(context, inside, entity, call.arguments, call.span)
    if inside is None or bindings is None:
        return None, context
    label = context.work.label()
    body = blocked(label, suite(replace(bindings.context, returns=label), entity.decl.body))
    for slot, value in reversed(bindings.values):
        body = ir.Bind(slot, value, body, span=call.span)
    return body, forget(context, [body])


def blocked(label: int, body: ir.Statement) -> ir.Statement:
    """Wraps ``body`` in a block with this label if a statement in it leaves that block."""
    return ir.Block(label, body) if may_leave(body, label) else body


# ---------------------------------------------------------------- branches and loops


def _marked(context: Context, span: Span, text: str, body: ir.Statement) -> ir.Statement:
    mark = context.mark("branch", span, context.action, text)
    parts = body.statements if isinstance(body, ir.Sequence) else (body,)
    return ir.Sequence((ir.Mark(mark, span=span), *parts))


def _if(context: Context, node: syntax.If) -> Result:
    context.work.limit(len(node.branches), node.span)
    branches: list[tuple[ir.Expr, ir.Statement]] = []
    inner = after = context
    result: ir.Statement = NOTHING
    # After a condition that is constantly true, the remaining branches are checked, but never run.
    decided = False
    for number, branch in enumerate(node.branches):
        condition = truth(inner, branch.condition)
        value = None if condition is None else known(condition.expr)
        yes = inner
        if condition is not None:
            ordinary(inner, condition, "a branch", branch.condition.span)
            yes = inner.unreached() if value is False else inner.learn(when(condition.expr, True))
            if not decided and _ended(branch.body):
                # If the branch returns, its condition is false after the `if` statement.
                after = after.learn(when(condition.expr, False))
        body = suite(yes, branch.body)
        if condition is not None and not decided:
            if value is None or (value and branches):
                text = " ".join(branch.condition.span.text.split())
                word = "elif" if number else "if"
                body = _marked(context, branch.condition.span, f"{word} {text}", body)
            if value is None:
                branches.append((condition.expr, body))
            elif value:
                result = body
        if condition is not None:
            inner = inner.learn(when(condition.expr, False))
        if value is True:
            decided = True
            inner = inner.unreached()
    if node.otherwise is not None:
        otherwise = suite(inner, node.otherwise)
        if not decided:
            result = otherwise
            if branches:
                result = _marked(context, node.otherwise[0].span, "else", otherwise)
    for test, body in reversed(branches):
        result = ir.If(test, body, result, span=node.span)
    return result, forget(after, [result])


def _match(context: Context, node: syntax.Match) -> Result:
    context.work.limit(len(node.cases), node.span)
    operand = context.expression(node.subject)
    if operand is not None:
        ordinary(context, operand, "a branch", node.subject.span)
        operand = Operand(operand.expr)
    # Statements may change a variable, so its value is bound, too.
    subject = bound_subject(context, operand, node.subject.span, (ir.Local, ir.Literal))
    cases: list[tuple[ir.Expr, ir.Statement]] = []
    result: ir.Statement = NOTHING
    for case, arm in zip(node.cases, matched_cases(subject, node), strict=True):
        match = arm.match
        if match is not None and subject.operand is not None:
            ghost = Operand(subject.operand.expr, match.ghost)
            ordinary(context, ghost, "a branch", case.pattern.span)
        body = suite(arm.context, case.body)
        if match is not None and arm.taken is not False:
            constant = subject.operand is not None and isinstance(subject.operand.expr, ir.Literal)
            if cases or not (arm.taken and constant):
                text = " ".join(case.pattern.span.text.split())
                body = _marked(context, case.pattern.span, f"case {text}", body)
            if match.test is None or arm.taken:
                result = body
            else:
                cases.append((match.test, body))
    for test, body in reversed(cases):
        result = ir.If(test, body, result, span=node.span)
    if subject.slot is not None and operand is not None:
        result = ir.Bind(subject.slot, operand.expr, result, span=node.span)
    return result, forget(context, [result])


def _for(context: Context, node: syntax.For) -> Result:
    domain = elements(context, node.binder.domain)
    if domain is not None:
        ghost = domain.ghost or going_through(domain.type, node.binder.span)
        iterated = Operand(domain.expr, ghost)
        ordinary(context, iterated, "a loop", node.binder.domain.span)
    # Facts about variables may change from one iteration to the next.
    slot, inner = drawn(context.with_locals_only(), node.binder, domain)
    body = suite(inner, node.body)
    if domain is None:
        return None, forget(context, [body])
    result = ir.ForEach(slot, domain.expr, body, span=node.span)
    return result, forget(context, [result])
