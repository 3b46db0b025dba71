"""What a model says of recordings, for build systems: each history a test case of JUnit, and each
that is not allowed a result of SARIF with its run.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.verdicts import Did, Judged, Verdict
from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page
from fencepost.checker.report import junit, sarif
from fencepost.checker.report.conformance import (
    Conformance,
    key_name,
    next_event,
    write_history,
)
from fencepost.spec.text.source import Span

RULES: dict[Verdict, str] = {
    "not allowed": "No run of the model shows this history.",
    "unknown": "No run of the model was found that shows this history, and some were cut short.",
    "unread": "A line of this history cannot be read.",
}


def sentence(judged: Judged) -> str:
    """What is said of a history that is not allowed."""
    if judged.verdict == "unread":
        return f"{key_name(judged.key)}: {RULES['unread']}"
    waiting = (f"{one.source}: {next_event(one)}" for one in judged.waiting)
    parts = [f"{judged.read} of {judged.total} events can be read", *waiting, *judged.cuts]
    return f"{key_name(judged.key)} is {_word(judged)}: {'; '.join(parts)}"


def _word(judged: Judged) -> str:
    return "not known to be allowed" if judged.verdict == "unknown" else judged.verdict


def _rule(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def junit_text(mapped: Mapped, found: Conformance) -> str:
    """The report as JUnit's XML."""
    root = Element("testsuites", name="fencepost")
    suite = SubElement(root, "testsuite", name=junit.clean(found.title))
    whole = {one.key: one for one in found.findings.whole}
    for judged in found.findings.histories():
        name = junit.clean(key_name(judged.key))
        case = SubElement(suite, "testcase", classname=junit.group(found.spec), name=name)
        case.set("file", junit.clean(found.spec))
        case.set("time", "0")
        if judged.verdict == "allowed":
            continue
        # What is not known is no failure of the system.
        kind = "failure" if judged.verdict == "not allowed" else "error"
        said = junit.clean(sentence(judged))
        failure = SubElement(case, kind, type=_rule(judged.verdict), message=said)
        if judged.key in whole:
            page = Page(junit.WIDTH)
            write_history(page, mapped, whole[judged.key], found.documents[judged.key])
            failure.text = junit.clean(page.text())
    junit.sums(suite, 0.0)
    return junit.document(root, found.findings.problems)


def sarif_object(mapped: Mapped, found: Conformance, exit_code: int) -> dict[str, Json]:
    """The report as a log of SARIF."""
    findings = found.findings
    results = [_result(mapped, found, one) for one in (*findings.whole, *findings.listed)]
    rules = {_rule(verdict): what for verdict, what in RULES.items()}
    problems = findings.problems
    return sarif.log(
        found.version, rules, problems, results, successful=not problems, exit_code=exit_code
    )


def _result(mapped: Mapped, found: Conformance, judged: Judged) -> Json:
    made: dict[str, Json] = {
        "ruleId": _rule(judged.verdict),
        "level": "error",
        "message": sarif.message(sentence(judged)),
        "locations": [sarif.location(mapped.recording.span)],
        "partialFingerprints": {"history/v1": f"{found.title}#{key_name(judged.key)}"},
    }
    document = found.documents.get(judged.key)
    if document is not None:
        spans = [_span(mapped, did) for _, did in judged.way]
        made["codeFlows"] = sarif.code_flows(document, spans)
    return made


def _span(mapped: Mapped, did: Did) -> Span:
    """Where a step is declared."""
    if did.action is not None:
        return mapped.model.actions[did.action].span
    if did.rule is not None:
        return mapped.recording.inputs[did.rule].span
    return mapped.recording.span
