"""Tests of the guard, which checks host, origin and token of requests for pages, uploads and WebSockets."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from isoplan.app.serving import shell
from isoplan.app.serving.guard import HEADERS, Guard

TOKEN = "a-token-of-some-length"
HOST = ("host", "localhost:8501")


async def _inner(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def ask(guard: Guard, *headers: tuple[str, str], kind: str = "http", **scope: Any) -> list[Message]:
    """Return the messages that the guard sends for one request."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": f"{kind}.request" if kind == "http" else "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    full = {
        "type": kind,
        "method": "GET",
        "path": "/",
        "scheme": "http",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(guard(full | scope, receive, send))
    return sent


def status(sent: list[Message]) -> int:
    return int(sent[0]["status"])


def header(sent: list[Message], name: str) -> str:
    return next((v.decode() for k, v in sent[0]["headers"] if k.decode().lower() == name), "")


LOCAL, SHARED = Guard(_inner), Guard(_inner, token=TOKEN, cookie="isoplan-8501")


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8501", "127.0.0.1:9", "[::1]:8501", "LOCALHOST:1", "localhost."]
)
def test_names_of_this_machine_pass(host: str) -> None:
    assert status(ask(LOCAL, ("host", host))) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.5:8501",
        "",
        "[::1",
        "a@localhost@b",
        "evil.example@localhost",
        "localhost#evil.example",
        "localhost/evil",
        "localhost?x",
        "localhost:80:90",
        "localhost:x",
        "local host",
    ],
)
def test_a_foreign_name_is_refused_so_that_rebinding_fails(host: str) -> None:
    assert status(ask(LOCAL, ("host", host))) == 403
    assert ask(LOCAL, ("host", host), kind="websocket")[0]["type"] == "websocket.close"


def test_a_request_without_a_host_is_refused() -> None:
    assert status(ask(LOCAL)) == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_change_from_another_origin_is_refused(method: str) -> None:
    assert status(ask(LOCAL, HOST, ("origin", "http://localhost:9999"), method=method)) == 403
    assert status(ask(LOCAL, HOST, ("origin", "null"), method=method)) == 403
    assert status(ask(LOCAL, HOST, ("origin", "http://["), method=method)) == 403
    assert status(ask(LOCAL, HOST, ("origin", "http://localhost:8501"), method=method)) == 200
    assert status(ask(LOCAL, HOST, method=method)) == 200


def test_an_origin_with_another_scheme_is_refused_but_behind_a_proxy_with_tls() -> None:
    tls = ("origin", "https://localhost:8501")
    cookie = ("cookie", f"isoplan-8501={TOKEN}")
    assert status(ask(LOCAL, HOST, tls, method="POST")) == 403
    assert status(ask(LOCAL, HOST, ("origin", "http://localhost:8501"), method="POST", scheme="https")) == 403
    assert status(ask(SHARED, HOST, tls, cookie, method="POST")) == 200
    assert ask(SHARED, HOST, tls, cookie, kind="websocket", scheme="ws")[0]["type"] == "websocket.accept"
    assert ask(LOCAL, HOST, tls, kind="websocket", scheme="wss")[0]["type"] == "websocket.accept"


def test_a_websocket_from_another_origin_is_refused() -> None:
    assert ask(LOCAL, HOST, ("origin", "http://evil.example"), kind="websocket")[0]["type"] == "websocket.close"
    assert ask(LOCAL, HOST, ("origin", "http://localhost:8501"), kind="websocket")[0]["type"] == "websocket.accept"


def test_every_answer_carries_the_safety_headers() -> None:
    for sent in (ask(LOCAL, HOST), ask(LOCAL, ("host", "evil.example")), ask(SHARED, HOST)):
        assert all(header(sent, name.lower()) == value for name, value in HEADERS.items())


def test_scripts_run_from_this_server_and_from_its_own_html_alone() -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    allowed = policy["script-src"].split()
    assert "unsafe" not in policy["script-src"]
    assert allowed[0] == "'self'"
    assert allowed[-1] == "blob:"
    for page in shell.PAGES:
        for body in re.findall(r"<script>(.*?)</script>", shell.html(page), re.DOTALL):
            assert f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'" in allowed
    assert policy["connect-src"] == "'self'"
    assert policy["object-src"] == "'none'"


def test_shared_nothing_passes_without_the_token() -> None:
    assert status(ask(SHARED, HOST)) == 401
    assert status(ask(SHARED, HOST, path="/_stcore/upload_file/x", method="PUT")) == 401
    assert status(ask(SHARED, HOST, query_string=b"token=wrong")) == 401
    assert status(ask(SHARED, HOST, ("cookie", "isoplan-8501=wrong"))) == 401
    assert status(ask(SHARED, HOST, ("cookie", 'a="\\"; b=[]{}'))) == 401
    assert ask(SHARED, HOST, kind="websocket")[0]["type"] == "websocket.close"
    assert ask(SHARED, HOST, kind="websocket", query_string=f"token={TOKEN}".encode())[0]["type"] == "websocket.close"


def test_shared_the_health_check_needs_no_token() -> None:
    assert status(ask(SHARED, HOST, path="/healthz")) == 200


def test_the_first_visit_moves_the_token_from_the_address_to_a_cookie() -> None:
    sent = ask(SHARED, HOST, path="/fit", query_string=f"table=a1&token={TOKEN}&x=1+2".encode())
    assert status(sent) == 303
    assert header(sent, "location") == "/fit?table=a1&x=1+2"
    cookie = header(sent, "set-cookie")
    assert cookie.startswith(f"isoplan-8501={TOKEN};")
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()


def test_the_way_on_stays_on_this_server() -> None:
    sent = ask(SHARED, HOST, path="//evil.example", query_string=f"token={TOKEN}".encode())
    assert header(sent, "location") == "/evil.example"


def test_with_the_cookie_everything_passes() -> None:
    cookie = ("cookie", f"other=1; isoplan-8501={TOKEN}")
    assert status(ask(SHARED, HOST, cookie)) == 200
    assert status(ask(SHARED, ("host", "cluster-7:8501"), cookie)) == 200
    assert ask(SHARED, HOST, cookie, kind="websocket")[0]["type"] == "websocket.accept"
    assert status(ask(SHARED, HOST, cookie, query_string=f"token={TOKEN}".encode())) == 303


def test_the_lifespan_passes() -> None:
    seen = []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    ask(Guard(inner), kind="lifespan")
    assert seen == ["lifespan"]
