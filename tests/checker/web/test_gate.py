"""The explorer answers only requests from its own page."""

from __future__ import annotations

from email.message import Message
from http import HTTPStatus

import pytest

from fencepost.checker.web.server import MAX_BYTES, Gate, new_token

GATE = Gate(4711, "token")
HOST = {"Host": "127.0.0.1:4711"}
POST = {
    **HOST,
    "Origin": "http://127.0.0.1:4711",
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/json",
    "Content-Length": "20",
}


def judged(
    method: str, path: str, headers: dict[str, str | None], *more: tuple[str, str]
) -> str | int:
    message = Message()
    for name, value in [*headers.items(), *more]:
        if value is not None:
            message[name] = value
    result = GATE.judge(method, path, message)
    return result.value if isinstance(result, HTTPStatus) else result


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/token/", "page"), ("/token/trace.itf.json", "trace")],
)
def test_get_requests(path: str, expected: str) -> None:
    assert judged("GET", path, {**HOST}) == expected
    assert judged("GET", path, {**HOST, "Sec-Fetch-Site": "same-origin"}) == expected
    # An address that the user typed is allowed for the page, but not for the trace.
    typed = judged("GET", path, {**HOST, "Sec-Fetch-Site": "none"})
    assert typed == (expected if expected == "page" else 403)


def test_post_requests() -> None:
    assert judged("POST", "/token/do", {**POST}) == "do"
    assert judged("POST", "/token/do", {**POST, "Sec-Fetch-Site": None}) == "do"


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "evil.example:4711", "localhost:4711", "127.0.0.1", "127.0.0.1:80",
     "127.0.0.1:4711.evil.example", "[::1]:4711", "127.0.0.1:4711, evil.example"],
)  # fmt: skip
@pytest.mark.parametrize(("method", "path"), [("GET", "/token/"), ("POST", "/token/do")])
def test_dns_rebinding(host: str | None, method: str, path: str) -> None:
    """After DNS rebinding, the browser still sends the host name of the other page."""
    assert judged(method, path, {**POST, "Host": host}) == 421


def test_two_host_headers() -> None:
    assert judged("GET", "/token/", {**HOST}, ("Host", "evil.example")) == 421


@pytest.mark.parametrize(
    "path",
    ["/", "/do", "/token", "/token/x", "/token//", "/tokem/", "/Token/", "/token/do?x", "/token/?",
     "/token/../token/", "/token/%64o", "/etc/passwd", "/token/../../etc/passwd", "//token/", "*",
     "http://127.0.0.1:4711/token/", "/tok\xe9n/", ""],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_paths(path: str, method: str) -> None:
    assert judged(method, path, {**POST}) == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/token/"), ("GET", "/token/do"), ("POST", "/token/trace.itf.json")],
)
def test_wrong_methods(method: str, path: str) -> None:
    assert judged(method, path, {**POST}) == 405


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "http://localhost:4711", "https://127.0.0.1:4711",
     "http://127.0.0.1:4712", "http://127.0.0.1", "http://127.0.0.1:4711/", "file://"],
)  # fmt: skip
def test_another_origin(origin: str | None) -> None:
    assert judged("POST", "/token/do", {**POST, "Origin": origin}) == 403
    if origin is not None:
        for path in ("/token/", "/token/trace.itf.json"):
            assert judged("GET", path, {**HOST, "Origin": origin}) == 403
    assert judged("POST", "/token/do", {**POST}, ("Origin", origin or "null")) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "SAME-ORIGIN"])
def test_another_site(site: str) -> None:
    for method, path in (
        ("GET", "/token/"),
        ("GET", "/token/trace.itf.json"),
        ("POST", "/token/do"),
    ):
        assert judged(method, path, {**POST, "Sec-Fetch-Site": site}) == 403
    assert judged("POST", "/token/do", {**POST, "Sec-Fetch-Site": "none"}) == 403


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Content-Type", None, 415),
        ("Content-Type", "text/plain", 415),
        ("Content-Type", "application/x-www-form-urlencoded", 415),
        ("Content-Type", "application/json; charset=utf-8", 415),
        ("Content-Length", None, 411),
        ("Transfer-Encoding", "chunked", 411),
        ("Content-Length", "-1", 400),
        ("Content-Length", "1e3", 400),
        ("Content-Length", "²", 400),
        ("Content-Length", "9" * 30, 400),
        ("Content-Length", str(MAX_BYTES + 1), 413),
        ("Content-Length", str(MAX_BYTES), "do"),
    ],
)
def test_the_form_of_a_request(name: str, value: str | None, status: str | int) -> None:
    assert judged("POST", "/token/do", {**POST, name: value}) == status


def test_tokens() -> None:
    """Tokens are long and distinct, and the text of a gate does not contain its token."""
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(len(token) >= 43 for token in tokens)
    gate = Gate(1)
    assert gate.token not in repr(gate)
    assert gate.url == f"http://127.0.0.1:1/{gate.token}/"
