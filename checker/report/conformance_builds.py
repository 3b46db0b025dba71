"""The report on recordings for build systems: histories as JUnit test cases, and those that are not
allowed as SARIF results.
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
    """The summary of a history that is not allowed."""
    if judged.verdict == "unread":
        return f"{key_name(judged.key)}: {RULES['unread']}"
    waiting = (
        f"{source_state.source}: {next_event(source_state)}" for source_state in judged.waiting
    )
    parts = [f"{judged.read} of {judged.total} events can be read", *waiting, *judged.cuts]
    return f"{key_name(judged.key)} is {_word(judged)}: {'; '.join(parts)}"


def _word(judged: Judged) -> str:
    return "not known to be allowed" if judged.verdict == "unknown" else judged.verdict


def _rule(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def junit_text(mapped: Mapped, conformance: Conformance) -> str:
    """The report as JUnit XML."""
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


def sarif_object(mapped: Mapped, conformance: Conformance, exit_code: int) -> dict[str, Json]:
    """The report as a SARIF log."""
    findings = conformance.findings
    results = [
        _result(mapped, conformance, judged) for judged in (*findings.whole, *findings.listed)
    ]
    rules = {_rule(verdict): text for verdict, text in RULES.items()}
    problems = findings.problems
    return sarif.log(
        conformance.version, rules, problems, results, successful=not problems, exit_code=exit_code
    )


def _result(mapped: Mapped, conformance: Conformance, judged: Judged) -> Json:
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


def _span(mapped: Mapped, did: Did) -> Span:
    """The declaration of a step's action or rule."""
    if did.action is not None:
        return mapped.model.actions[did.action].span
    if did.rule is not None:
        return mapped.recording.inputs[did.rule].span
    return mapped.recording.span
