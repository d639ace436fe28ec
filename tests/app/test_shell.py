"""Tests of URLs: pages respond, unknown pages redirect to Home, and files and services reach the inner app."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from isoplan.app.serving import shell

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"


async def _file(_request: Any) -> PlainTextResponse:
    return PlainTextResponse("a file")


def ask(path: str, accept: str = HTML) -> tuple[int, str]:
    """Request ``path``. Return the status of the response, and the full path to which the response redirects."""
    app = Starlette(routes=[*shell.routes(), Route("/{rest:path}", _file)])
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "root_path": "", "scheme": "http",
             "server": ("localhost", 80), "headers": [(b"accept", accept.encode())]}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    headers = dict(sent[0]["headers"])
    place = headers.get(b"location", b"").decode()
    return sent[0]["status"], urljoin(f"http://localhost{path}", place).removeprefix(
        "http://localhost"
    ) if place else ""


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("/presicion", "/?unknown=presicion"),
        ("/plan2", "/?unknown=plan2"),
        ("/fit_old", "/?unknown=fit_old"),
        ("/foo.bar", "/?unknown=foo.bar"),
        ("/Präzision", "/?unknown=Pr%C3%A4zision"),
        ("/foo/bar", "/?unknown=foo%2Fbar"),
        ("/plan/x", "/?unknown=plan%2Fx"),
        ("/plan/x/", "/?unknown=plan%2Fx"),
        ("/plan/", "/plan"),
    ],
)
def test_an_address_that_no_page_has_leads_to_home(path: str, leads: str) -> None:
    assert ask(path) == (307, leads)


def test_no_address_leads_to_another_server() -> None:
    assert ask("//elsewhere.example/plan") == (307, "/?unknown=%2Felsewhere.example%2Fplan")


@pytest.mark.parametrize("path", ["/", "/plan", "/data", "/amplitude"])
def test_pages_answer(path: str) -> None:
    assert ask(path) == (200, "")


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/_stcore/health", HTML),
        ("/component/app.download/index.html", HTML),
        ("/media/abc.csv", HTML),
        ("/static/js/index.js", HTML),
        ("/vendor/plotly.min.js", HTML),
        ("/api/pdf", HTML),
        ("/foo.bar", "*/*"),
    ],
)
def test_files_and_services_are_left_to_others(path: str, accept: str) -> None:
    assert ask(path, accept) == (200, "")
