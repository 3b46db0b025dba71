"""Reports a run as JUnit XML, with a test suite per spec and a test case per check.

The format has no specification. The report uses the elements that Jenkins, GitLab and GitHub
actions read: `testsuites` contains `testsuite` elements, which contain `testcase` elements, which
may contain `failure`, `error` or `skipped`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from fencepost.checker.printing.page import Page
from fencepost.checker.report.text import write_check
from fencepost.checker.report.whole_run import SpecRun, Whole, rule, sentence, within
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import resumed
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.text.problem import Problem, harmless, printable

WIDTH = 100


def dumps(whole: Whole) -> str:
    """Renders the report, using only characters that XML allows."""
    root = Element("testsuites", name="fencepost")
    for spec in whole.specs:
        _suite(root, spec)
    for refused in whole.refused:
        errors = [problem for problem in refused.problems if not problem.warning]
        _refused(root, str(refused.path), errors)
    if whole.skipped:
        suite = SubElement(root, "testsuite", name="skipped specs")
        for folder in whole.skipped:
            case = SubElement(suite, "testcase", classname="fencepost", time="0")
            case.set("name", clean(str(folder.path)))
            SubElement(case, "skipped", message=clean(f"skipped {folder}"))
        sums(suite, 0.0)
    return document(root, whole.other_errors)


def document(root: Element, errors: Sequence[Problem]) -> str:
    """Adds a test suite for each file with problems, and renders the document."""
    for name, problems in _by_file(errors).items():
        _refused(root, name, problems)
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.6f}")
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _suite(root: Element, spec: SpecRun) -> None:
    suite = SubElement(root, "testsuite", name=clean(spec.path))
    seconds = 0.0
    for result in spec.done.results:
        seconds += result.outcome.statistics.seconds
        _case(suite, spec, result)
    for check, why, code in spec.not_run:
        case = _testcase(suite, spec.path, check.name, check, "0")
        reason = SubElement(case, "error" if code else "skipped", message=clean(why))
        if code:
            reason.set("type", code)
    sums(suite, seconds)


def _case(suite: Element, spec: SpecRun, result: CheckResult) -> None:
    seconds = f"{result.outcome.statistics.seconds:.6f}"
    case = _testcase(suite, spec.path, result.job.title, result.job.check, seconds)
    bounds, start = within(result), resumed(result.outcome)
    lines = [f"{result.outcome.verdict.value} {'; '.join(bounds)}"] if bounds else []
    lines += [start] if start else []
    if lines:
        SubElement(case, "system-out").text = clean("\n".join(lines))
    if result.as_expected:
        return
    rule_id = rule(result)
    # An undecided check is not a failure of the spec.
    kind = "error" if rule_id == "inconclusive" else "failure"
    page = Page(WIDTH)
    write_check(page, result)
    failure = SubElement(case, kind, type=rule_id, message=clean(sentence(result)))
    failure.text = clean(page.text())


def _testcase(suite: Element, path: str, name: str, check: Check, seconds: str) -> Element:
    case = SubElement(suite, "testcase", classname=group(path), name=clean(name))
    case.set("file", clean(path))
    if check.span is not None:
        case.set("line", str(check.span.line))
    case.set("time", seconds)
    return case


def group(path: str) -> str:
    """Returns the class name that the test cases of a file share."""
    parts = PurePath(path).with_suffix("").parts
    return clean(".".join(part for part in parts if part.strip("/.")))


def _refused(root: Element, name: str, problems: Sequence[Problem]) -> None:
    """Adds a test suite for a file with problems. Its only test case has an error that lists
    them.
    """
    suite = SubElement(root, "testsuite", name=clean(name))
    case = SubElement(suite, "testcase", classname="fencepost", name=clean(name), time="0")
    for problem in problems[:1]:
        error = SubElement(case, "error", type=problem.code, message=clean(problem.message))
        error.text = clean("\n\n".join(str(problem) for problem in problems))
    sums(suite, 0.0)


def _by_file(problems: Sequence[Problem]) -> dict[str, list[Problem]]:
    files: dict[str, list[Problem]] = {}
    for problem in problems:
        name = problem.span.source.name if problem.span else "command line"
        files.setdefault(name, []).append(problem)
    return files


def sums(suite: Element, seconds: float) -> None:
    """Sets the numbers of test cases of a test suite, and its time."""
    suite.set("tests", str(len(suite)))
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{seconds:.6f}")


def clean(text: str) -> str:
    """Replaces control characters and characters that XML cannot represent."""
    return "".join(char if _in_xml(char) else "?" for char in harmless(printable(text)))


def _in_xml(char: str) -> bool:
    code = ord(char)
    return char in "\t\n\r" or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code > 0xFFFF
