"""Reports on recordings as text, as JSON, and for build systems. For build systems, histories
become JUnit test cases, and the histories that are not allowed become SARIF results.

The report does not depend on time, nor on how the lines of several sources are interleaved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement

from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page, cut
from fencepost.checker.report import junit, sarif
from fencepost.checker.report.assurance import Remark, described, unset_marks
from fencepost.checker.report.text import write_remarks
from fencepost.checker.report.trace_json import trace_json
from fencepost.checker.run.words import plural
from fencepost.checker.systems.conform.findings import Findings
from fencepost.checker.systems.conform.lines import Key
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.verdicts import (
    Judgement,
    Layer,
    Origin,
    Reason,
    Verdict,
    Waiting,
)
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.excerpts import place
from fencepost.checker.trace.steps import WriteTrace, write_steps
from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span

STYLES: dict[Verdict, str] = {
    "allowed": "good", "not allowed": "bad", "unknown": "warn", "unread": "warn",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conformance:
    """The verdicts on a recording. ``documents`` contains the traces of the histories that are
    shown in full. ``allowed`` has the number of histories that each check allows, if several checks
    judged them.
    """

    title: str
    spec: str
    check: str
    version: str
    findings: Findings
    documents: dict[Key, TraceDocument]
    allowed: Mapping[str, int] = field(default_factory=dict[str, int])

    def count(self, verdict: Verdict) -> int:
        return self.findings.totals.verdicts[verdict]


@dataclass(frozen=True, slots=True)
class Detail:
    """The extent of a text report: the runs of refused histories, written by ``trace``, or only
    their last steps if it is None; and with ``coverage``, everything that no run used.
    """

    trace: WriteTrace | None = None
    coverage: bool = False
    quiet: bool = False


BRIEF = Detail()
COLUMN = 9
"""Width of the labels of a refusal."""
HANG = 4 + COLUMN + 1
MAX_ROWS = 13
"""Maximum number of lines of a refusal between its heading and its last steps."""
MAX_SHOWN_REASONS = 2
LAST_STEPS = 3
MAX_CUTS = 2
MAX_UNUSED = 3
"""Maximum number of remarks on coverage that are not summarized."""


def write_conformance(
    page: Page, mapped: MappedModel, conformance: Conformance, detail: Detail = BRIEF
) -> None:
    """Writes the text report on a recording. A quiet report omits histories that are allowed."""
    if (
        detail.quiet
        and conformance.count("allowed") == conformance.findings.totals.verdicts.total()
    ):
        return
    counts = [(verdict, conformance.count(verdict)) for verdict in STYLES]
    parts = [f"{count:,} {verdict}" for verdict, count in counts if count]
    worst = next(
        (v for v in ("not allowed", "unknown", "unread") if conformance.count(v)), "allowed"
    )
    style = "bad" if worst == "not allowed" else "good" if worst == "allowed" else "warn"
    totals = conformance.findings.totals
    style = style if totals.verdicts.total() else "warn"
    size = f"{plural_of(totals.verdicts.total())}, {plural(totals.events, 'event')}"
    page.line(
        (conformance.title, "title"),
        "  ",
        (", ".join(parts) or "no history", style),
        "   ",
        (size, "dim"),
    )
    whole, listed = conformance.findings.whole, conformance.findings.listed
    for judged in whole:
        page.blank()
        write_history(page, mapped, judged, conformance.documents[judged.key], detail)
    if listed:
        page.blank()
    for judged in listed:
        rest = "" if judged.verdict == "unread" else f", {judged.read} of {judged.total} events"
        page.line("  ", key_name(judged.key), ": ", (judged.verdict, STYLES[judged.verdict]), rest)
    more = totals.verdicts.total() - conformance.count("allowed") - len(whole) - len(listed)
    if more:
        page.line(f"  and {plural_of(more)} more")
    if detail.quiet:
        return
    page.blank()
    write_remarks(page, list(_in_brief(list(remarks(mapped, conformance)), detail)))


def _in_brief(every: Sequence[Remark], detail: Detail) -> Iterator[Remark]:
    """Summarizes the remarks on what no run used, if they are many."""
    unused = [remark for remark in every if remark.topic.startswith("never ")]
    if detail.coverage or sum(len(remark.text) for remark in unused) <= MAX_UNUSED * 100:
        yield from every
        return
    yield from (remark for remark in every if remark not in unused)
    topics = Counter(remark.topic for remark in unused)
    for remark in unused:
        if remark.listed:
            topics[remark.topic] = remark.text.count(", ") + 1
    parts = [f"{count} {topic}" for topic, count in topics.items()]
    yield Remark("coverage", f"{', '.join(parts)} (-v lists them)", routine=True)


def plural_of(count: int) -> str:
    """Formats a number of histories: ``1 history``, ``2 histories``."""
    return f"{count:,} {'history' if count == 1 else 'histories'}"


def write_history(
    page: Page,
    mapped: MappedModel,
    judged: Judgement,
    document: TraceDocument,
    detail: Detail = BRIEF,
) -> None:
    """Writes the report on a history that is not allowed: at most 20 lines, unless the detail asks
    for the run.
    """
    style = STYLES[judged.verdict]
    read = f"{judged.read} of {plural(judged.total, 'event')} can be read"
    page.line("  ", (key_name(judged.key), "title"), "  ", (judged.verdict, style), f"   {read}")
    offending = judged.offending
    left = MAX_ROWS
    for label, text, lines in _rows(mapped, judged, offending):
        rows = _wrapped(text, lines, page.width - HANG)
        left -= len(rows)
        if left < 0:
            break
        style = "warn" if label == "cut" else "title" if label == "because" else ""
        for number, row in enumerate(rows):
            page.line((f"    {'' if number else label:<{COLUMN}} ", "dim"), (row, style))
    if detail.trace is None:
        page.line("    the last steps up to there")
        write_steps(page, document, 4, LAST_STEPS)
        return
    page.line("    the run of the model up to there")
    detail.trace(page, document, 4)


def _rows(
    mapped: MappedModel, judged: Judgement, offending: Waiting | None
) -> Iterator[tuple[str, str, int]]:
    """Yields the rows of a refusal: a label, a text, and the maximum number of lines."""
    if offending is not None:
        where = "" if offending.line is None else offending.line.where
        yield "at", ", ".join(part for part in (offending.source, where) if part), 2
        yield "", next_event(offending), 3
    labels = ("because", *("or" for _ in judged.reasons))
    for label, reason in zip(labels, judged.reasons[:MAX_SHOWN_REASONS], strict=False):
        source = judged.waiting[reason.source]
        yield label, reason.text if source is offending else f"{source.source}: {reason.text}", 3
    if judged.otherwise:
        yield "otherwise", judged.otherwise, 2
    for reason in judged.nearest[: 1 if judged.reasons else 2]:
        yield "nearest", f"{judged.waiting[reason.source].source}: {reason.text}", 2
    if judged.instead and not judged.nearest:
        yield "instead", f"the model shows {'; '.join(judged.instead)}", 1
    elif not judged.instead and judged.verdict == "not allowed":
        yield "instead", "the model shows nothing else", 1
    for reason_cut in judged.cuts[:MAX_CUTS]:
        yield "cut", reason_cut, 1
    if len(judged.cuts) > MAX_CUTS:
        yield "cut", f"and {len(judged.cuts) - MAX_CUTS} more", 1
    ahead = any(waiting.kind == "ahead" for waiting in mapped.recording.inputs)
    for layer in judged.layers[-1:]:
        yield "", _layer(layer, ahead=ahead), 1
    if judged.names:
        yield "names", ", ".join(f"{n} is {v}" for n, v in judged.names), 1
    for item in judged.waiting:
        if item is not offending:
            yield "also", f"{item.source}: {next_event(item)}", 1


def _wrapped(text: str, lines: int, width: int) -> list[str]:
    """Wraps a text, and cuts it after ``lines`` lines."""
    rows = wrap(" ".join(text.split()), width) or [""]
    if len(rows) <= lines:
        return rows
    return [*rows[: lines - 1], cut(" ".join(rows[lines - 1 :]), width)]


def _layer(layer: Layer, *, ahead: bool) -> str:
    how = "searched to the end" if layer.ended else "not searched to the end"
    how += f": {plural(layer.states, 'product state')}"
    if not ahead:
        return how
    most = (
        f"at most {plural(layer.ahead, 'message')} under way" if layer.ahead else "none under way"
    )
    return f"with {most} where a message is put in ahead, {how}"


def next_event(waiting: Waiting) -> str:
    """Describes how far a source was read, and its next event."""
    if waiting.read == waiting.total:
        return f"all of {plural(waiting.total, 'event')}"
    text = "" if waiting.line is None else f", {waiting.line.text}"
    return f"next is event {waiting.read + 1} of {waiting.total}{text}"


def key_name(key: Key) -> str:
    """Returns the name of a history."""
    return "the recording" if key is None else str(key)


def remarks(mapped: MappedModel, conformance: Conformance) -> Iterator[Remark]:
    """Yields remarks on coverage and on the assumptions that the verdict depends on."""
    actions, recording = mapped.model.actions, mapped.recording
    totals = conformance.findings.totals
    steps = totals.taken.total()
    if conformance.allowed:
        yield Remark("allowed by", _allowing(conformance), routine=True, listed=True)
    yield Remark("runs", f"{plural(steps, 'step')} of the model", routine=True)
    hidden = sum(count for n, count in totals.taken.items() if n in recording.hidden)
    if recording.hidden:
        yield Remark("hidden", f"{plural(hidden, 'step')} of hidden actions", routine=True)
    never = [action.name for n, action in enumerate(actions) if not totals.taken[n]]
    if never:
        yield Remark("never taken", ", ".join(never), listed=True)
    yield from _unused(mapped, conformance)
    if recording.tolerated:
        passed = totals.tolerated
        yield Remark("tolerated", plural(passed, "event"), routine=not passed)
    strays = conformance.findings.strays
    if strays:
        yield Remark("no history", f"{plural(strays, 'event')} of no history")
    if recording.under_way is not None:
        count = recording.under_way
        message = f"at most {count} under way where a message is put in ahead, as the spec says"
        yield Remark("assumed", message, routine=True)


def _allowing(conformance: Conformance) -> str:
    """Lists the checks that allow all histories, and how many the other checks allow."""
    total = conformance.findings.totals.verdicts.total()
    parts = [
        name if count == total else f"{name} {count} of {total}"
        for name, count in conformance.allowed.items()
    ]
    return ", ".join(parts)


def _unused(mapped: MappedModel, conformance: Conformance) -> Iterator[Remark]:
    """Lists the parts of the model and the rules of the recording that no run used."""
    model, recording = mapped.model, mapped.recording
    totals = conformance.findings.totals
    grouped: dict[tuple[str, str], dict[str, None]] = {}
    for mark in unset_marks(model, totals.marked):
        if mark.kind == "antecedent" or not totals.taken[mark.owner]:
            continue
        topic = "never true" if mark.kind == "guard" else "never entered"
        name = model.actions[mark.owner].name
        grouped.setdefault((topic, name), {})[described(mark, conformance.spec)] = None
    for (topic, name), texts in grouped.items():
        yield Remark(topic, f"{name}: {', '.join(texts)}")
    rules = [
        f"{item.kind} {recording.events[item.event].name} ({place(item.span)})"
        for number, item in enumerate(recording.inputs)
        if number not in totals.used
    ]
    if rules:
        yield Remark("never used", ", ".join(rules), listed=True)
    events = enumerate(recording.events)
    unseen = [item.name for number, item in events if number not in totals.seen]
    if unseen:
        yield Remark("never seen", ", ".join(unseen), listed=True)


def conformance_object(
    mapped: MappedModel, conformance: Conformance, exit_code: int
) -> dict[str, Json]:
    """Returns the report as a JSON object."""
    return {
        "spec": conformance.spec,
        "check": conformance.check,
        "version": conformance.version,
        "exit": exit_code,
        "counts": {verdict: conformance.count(verdict) for verdict in STYLES},
        "histories": [
            _history(item, conformance.documents.get(item.key))
            for item in conformance.findings.histories()
        ],
        "taken": {
            a.name: conformance.findings.totals.taken[n] for n, a in enumerate(mapped.model.actions)
        },
        "allowed": dict(conformance.allowed),
        "strays": conformance.findings.strays,
        "notes": [f"{item.topic}: {item.text}" for item in remarks(mapped, conformance)],
        "problems": [
            {"code": item.code, "message": item.message} for item in conformance.findings.problems
        ],
    }


def _history(judged: Judgement, document: TraceDocument | None) -> Json:
    return {
        "key": judged.key,
        "verdict": judged.verdict,
        "events": judged.total,
        "read": judged.read,
        "states": judged.states,
        "next": [
            {
                "source": item.source,
                "read": item.read,
                "events": item.total,
                "event": None if item.line is None else item.line.text,
                "file": None if item.line is None else item.line.file or None,
                "line": None if item.line is None else item.line.number or None,
            }
            for item in judged.waiting
        ],
        "reasons": _reasons(judged, judged.reasons),
        "nearest": _reasons(judged, judged.nearest),
        "otherwise": judged.otherwise or None,
        "instead": list(judged.instead),
        "cuts": list(judged.cuts),
        "layers": [
            {"under_way": item.ahead, "states": item.states, "ended": item.ended}
            for item in judged.layers
        ],
        "names": dict(judged.names),
        "tolerated": judged.tolerated,
        "trace": None if document is None else trace_json(document),
    }


def _reasons(judged: Judgement, reasons: Sequence[Reason]) -> Json:
    return [{"source": judged.waiting[r.source].source, "text": r.text} for r in reasons]


# ---------------------------------------------------------------- formats of build services


RULES: dict[Verdict, str] = {
    "not allowed": "No run of the model shows this history.",
    "unknown": "No run of the model was found that shows this history, but some were cut short.",
    "unread": "A line of this history cannot be read.",
}


def sentence(judged: Judgement) -> str:
    """Summarizes a history that is not allowed."""
    if judged.verdict == "unread":
        return f"{key_name(judged.key)}: {RULES['unread']}"
    reasons = [reason.text for reason in judged.reasons[:1]]
    waiting = (
        f"{source_state.source}: {next_event(source_state)}" for source_state in judged.waiting
    )
    read = f"{judged.read} of {judged.total} events can be read"
    parts = [*reasons, read, *waiting, *judged.cuts]
    return f"{key_name(judged.key)} is {_word(judged)}: {'; '.join(parts)}"


def _word(judged: Judgement) -> str:
    return "not known to be allowed" if judged.verdict == "unknown" else judged.verdict


def _rule(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def junit_text(mapped: MappedModel, conformance: Conformance) -> str:
    """Returns the report as JUnit XML."""
    root = Element("testsuites", name="fencepost")
    suite = SubElement(root, "testsuite", name=junit.clean(conformance.title))
    whole = {item.key: item for item in conformance.findings.whole}
    for judged in conformance.findings.histories():
        name = junit.clean(key_name(judged.key))
        case = SubElement(suite, "testcase", classname=junit.group(conformance.spec), name=name)
        case.set("file", junit.clean(conformance.spec))
        case.set("time", "0")
        if judged.verdict == "allowed":
            continue
        # An undecided history is not a failure of the system.
        kind = "failure" if judged.verdict == "not allowed" else "error"
        message = junit.clean(sentence(judged))
        failure = SubElement(case, kind, type=_rule(judged.verdict), message=message)
        if judged.key in whole:
            page = Page(junit.WIDTH)
            write_history(page, mapped, whole[judged.key], conformance.documents[judged.key])
            failure.text = junit.clean(page.text())
    junit.sums(suite, 0.0)
    return junit.document(root, conformance.findings.problems)


def sarif_object(mapped: MappedModel, conformance: Conformance, exit_code: int) -> dict[str, Json]:
    """Returns the report as a SARIF log."""
    findings = conformance.findings
    results = [
        _result(mapped, conformance, judged) for judged in (*findings.whole, *findings.listed)
    ]
    rules = {_rule(verdict): text for verdict, text in RULES.items()}
    problems = findings.problems
    return sarif.log(
        conformance.version, rules, problems, results, successful=not problems, exit_code=exit_code
    )


def _result(mapped: MappedModel, conformance: Conformance, judged: Judgement) -> Json:
    result: dict[str, Json] = {
        "ruleId": _rule(judged.verdict),
        "level": "error",
        "message": sarif.message(sentence(judged)),
        "locations": [sarif.location(mapped.recording.span)],
        "partialFingerprints": {"history/v1": f"{conformance.title}#{key_name(judged.key)}"},
    }
    document = conformance.documents.get(judged.key)
    if document is not None:
        spans = [_span(mapped, did) for _, did in judged.way]
        result["codeFlows"] = sarif.code_flows(document, spans)
    return result


def _span(mapped: MappedModel, did: Origin) -> Span:
    """Returns the declaration of the action or rule that a step comes from."""
    if did.action is not None:
        return mapped.model.actions[did.action].span
    if did.rule is not None:
        return mapped.recording.inputs[did.rule].span
    return mapped.recording.span
