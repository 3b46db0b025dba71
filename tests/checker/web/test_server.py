"""The explorer's server over a socket: which requests it answers, and which it rejects."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Generator
from http import HTTPStatus
from pathlib import Path
from threading import Thread

import pytest
from tests.support.command import run
from tests.support.explorers import answer_to, answer_to_page, raw, serving
from tests.support.processes import COMMAND, started
from tests.support.sample_traces import FAULTS

from fencepost.checker.web.server import Server


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Generator[Server]:
    with serving(tmp_path, FAULTS) as server:
        yield server


def test_the_content_security_policy_of_the_page(server: Server) -> None:
    answer = answer_to(server, f"GET /{server.gate.token}/ HTTP/1.1", [("Host", server.gate.host)])
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', answer.body)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].decode().split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert rules["form-action"] == rules["base-uri"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["style-src"])
    assert "http" not in policy[1].decode()
    # Only the address contains the token, so a saved or shared page does not reveal the token.
    assert server.gate.token.encode() not in answer.body


@pytest.mark.parametrize("path", ["/TOKEN/", "/TOKEN/do", "/nothing"])
def test_headers_of_every_answer(server: Server, path: str) -> None:
    path = path.replace("TOKEN", server.gate.token)
    answer = answer_to(server, f"GET {path} HTTP/1.1", [("Host", server.gate.host)])
    for name, value in {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }.items():
        assert answer.headers[name] == value
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "Python" not in answer.headers.get("Server", "")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"OPTIONS /TOKEN/do HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\n\r\n", 501),
        (b"PUT /TOKEN/do HTTP/1.1\r\nHost: HOST\r\n\r\n", 501),
        (b"HEAD /TOKEN/ HTTP/1.1\r\nHost: HOST\r\n\r\n", 501),
        (b"GET /TOKEN/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET /TOKEN/ HTTP/1.1\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
        (b"GET /favicon.ico HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
        (b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
        (b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\nHost: HOST\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
        (b"nonsense\r\n\r\n", 0),
        (b"GET /TOKEN/\r\n\r\n", 0),
        (b"\xff\xfe \x00 HTTP/1.1\r\n\r\n", 501),
    ],
)
def test_foreign_and_malformed_requests(server: Server, data: bytes, status: int) -> None:
    gate = server.gate
    sent = data.replace(b"TOKEN", gate.token.encode()).replace(b"HOST", gate.host.encode())
    answer = raw(server, sent)
    assert answer.status == status
    assert answer.body in {b"", *(code.phrase.encode() for code in HTTPStatus)}


@pytest.mark.parametrize(
    "words",
    [
        {}, {"do": 3}, {"do": "fly", "at": 0}, {"do": "take"}, {"do": "take", "at": 0},
        {"do": "take", "at": 0, "number": 0}, {"do": "take", "at": 0, "number": 99},
        {"do": "take", "at": 0, "number": True}, {"do": "take", "at": 0, "number": "1"},
        {"do": "take", "at": -1, "number": 1}, {"do": "go", "at": 0, "way": 0, "steps": 9},
        {"do": "go", "at": 0, "way": 1, "steps": 0}, {"do": "back", "at": 0, "count": 1.5},
        {"do": "goto", "at": 0, "text": ["x"]}, {"do": "watch", "at": 0, "text": "1" * 10_001},
        {"do": "unwatch", "at": 0, "number": 0}, {"do": "_take", "at": 0, "number": 1},
    ],
)  # fmt: skip
def test_invalid_commands(server: Server, words: dict[str, object]) -> None:
    assert answer_to_page(server, **words).status == 400
    assert len(answer_to_page(server, do="back", at=0, count=0).json["data"]["steps"]) == 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"\xff", b"[" * 60_000, b'{"do": ' + b"9" * 9999]
)
def test_bodies_that_are_not_an_object(server: Server, body: bytes) -> None:
    gate = server.gate
    headers = [
        ("Host", gate.host), ("Origin", gate.origin), ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
    ]  # fmt: skip
    assert answer_to(server, f"POST /{gate.token}/do HTTP/1.1", headers, body).status == 400


def test_a_stale_window_takes_no_step(server: Server) -> None:
    first = answer_to_page(server, do="take", at=0, number=1).json
    assert (first["at"], len(first["data"]["steps"]), first["said"]) == (1, 2, "")
    stale = answer_to_page(server, do="take", at=0, number=1).json
    assert (stale["at"], len(stale["data"]["steps"])) == (1, 2)
    assert stale["said"] == "the walk was continued in another window"


def test_the_trace_is_the_current_path(server: Server) -> None:
    answer_to_page(server, do="take", at=0, number=1)
    headers = [("Host", server.gate.host), ("Sec-Fetch-Site", "same-origin")]
    answer = answer_to(server, f"GET /{server.gate.token}/trace.itf.json HTTP/1.1", headers)
    assert [state["#meta"]["action"] for state in answer.json["states"]] == [None, "Client.ask"]


def test_a_search_is_stopped(tmp_path: Path) -> None:
    """Another request ends a long search."""
    spec = "".join(f"var x{n}: 0..9 = 0\naction a{n}: x{n} = (x{n} + 1) % 10\n" for n in range(7))
    with serving(tmp_path, f"{spec}terminal: true\n") as server:
        answers: list[str] = []
        search = Thread(
            target=lambda: answers.append(
                answer_to_page(server, do="goto", at=0, text="x0 + x1 + x2 + x3 > 99").json["said"]
            )
        )
        search.start()
        while search.is_alive():
            assert answer_to_page(server, do="stop").json == {}
            search.join(0.05)
        assert answers == ["the search was stopped"]


def test_nothing_listens_elsewhere(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


# ---------------------------------------------------------------- the command


def test_ctrl_c_ends_the_server(tmp_path: Path) -> None:
    (tmp_path / "faults.fence").write_text(FAULTS, encoding="utf-8")
    words = (*COMMAND, "explore", "faults.fence", "--check", "twice", "--web")
    with started(*words, folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        match = re.fullmatch(r"the explorer is at http://127\.0\.0\.1:(\d+)/([\w-]{43,})/\n", line)
        assert match is not None
        host = f"127.0.0.1:{match[1]}"
        with socket.create_connection(("127.0.0.1", int(match[1])), 60) as connection:
            connection.sendall(f"GET /{match[2]}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert connection.recv(12) == b"HTTP/1.0 200"
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()


def test_a_port_in_use(tmp_path: Path) -> None:
    (tmp_path / "faults.fence").write_text(FAULTS, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ran = run("explore", "faults.fence", "--web", "--port", port, folder=tmp_path)
    assert (ran.code, ran.stdout) == (151, "")
    assert ran.stderr.startswith(f"error[F871]: cannot serve at 127.0.0.1:{port}: ")
    ran = run("explore", "faults.fence", "--web", "--port", "99999", folder=tmp_path)
    assert (ran.code, "F871" in ran.stderr) == (151, True)
    ran = run("explore", "faults.fence", "--port", "4711", folder=tmp_path)
    assert (
        ran.code,
        "--port sets the port of the web page, so it requires --web" in ran.stderr,
    ) == (151, True)


def test_the_trace_names_no_file_but_the_spec(server: Server) -> None:
    headers = [("Host", server.gate.host), ("Sec-Fetch-Site", "same-origin")]
    answer = answer_to(server, f"GET /{server.gate.token}/trace.itf.json HTTP/1.1", headers)
    assert set(json.loads(answer.body)) == {"#meta", "vars", "states"}
