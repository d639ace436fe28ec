"""Access control of the server: an ASGI middleware that checks every request, including WebSockets and uploads."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isoplan.app.serving.shell import inline_scripts

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATHS = frozenset({"/healthz", "/_stcore/health"})
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s\[\]@#?/\\:]+))(?::\d+)?")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# A page can run three kinds of scripts: files of this server, the inline scripts of its own HTML (listed by hash), and
# blob: scripts, because Streamlit loads the code of page components as blobs. Styles stay 'unsafe-inline' because two
# libraries of the pages, emotion and plotly.js, write style elements and attributes while they draw. A style cannot run
# a script.
CONTENT_POLICY = (
    f"default-src 'self'; script-src 'self' {' '.join(inline_scripts())} blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "worker-src 'self' blob:; frame-ancestors 'self'; object-src 'none'; base-uri 'self'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


@dataclass(frozen=True)
class Guard:
    """Middleware that accepts a request if its host, its origin and its token are correct.

    If ``token`` is empty, the Host header must be a name of this machine, such as localhost. This refuses requests from
    a foreign page whose own domain name resolves to 127.0.0.1 (DNS rebinding). If ``token`` is set, any host is
    accepted, but a request needs the cookie that the first visit with ``?token=`` sets. With and without a token, a
    WebSocket or a request that can change something must come from a page of this server.
    """

    app: ASGIApp
    token: str = ""
    cookie: str = "isoplan"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response that refuses the request; None if the request is accepted."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if scope["path"] in OPEN_PATHS:
            return None
        if not self.token and _name(host) not in LOCAL_HOSTS:
            return PlainTextResponse("This Isoplan server can be opened only at localhost.", 403)
        if not _same_origin(scope, headers, host, bool(self.token)):
            return PlainTextResponse("This request comes from a page of another site.", 403)
        return self._token_refusal(scope, headers) if self.token else None

    def _token_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if _equal(_cookies(headers).get(self.cookie, ""), self.token):
            return None if scope["type"] == "websocket" else self._without_token(scope)
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        if scope["type"] == "http" and scope["method"] == "GET" and _equal(query.get("token", ""), self.token):
            return self._without_token(scope)
        return PlainTextResponse("This Isoplan server requires a token: open the link that contains the token.", 401)

    def _without_token(self, scope: Scope) -> Response | None:
        """Return a redirect to the same address without the token. The response sets the token as a cookie.

        Returns None if the address has no token.
        """
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        rest = [(key, value) for key, value in query if key != "token"]
        if len(rest) == len(query) or scope["method"] != "GET":
            return None
        path = "/" + scope["path"].lstrip("/\\")
        response = RedirectResponse(path + (f"?{urlencode(rest)}" if rest else ""), 303)
        secure = scope["scheme"] == "https"
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="lax", secure=secure)
        return response


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _name(host: str) -> str:
    """Return the host name in a Host header, without the port; "" if the header is not valid."""
    found = HOST.fullmatch(host)
    return (found[1] or found[2]).lower().rstrip(".") if found else ""


def _same_origin(scope: Scope, headers: Headers, host: str, shared: bool) -> bool:
    """Return True for a request from a page of this server, and for a request that cannot change anything.

    A request without an Origin header does not come from a page of another site, so the result is also True. If
    ``shared`` is true, a proxy in front of the server can add TLS. The origin can then be https although the request is
    http.
    """
    if scope["type"] == "http" and scope["method"] in SAFE_METHODS:
        return True
    origin = headers.get("origin")
    if origin is None:
        return True
    scheme = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
    return origin in {f"{scheme}://{host}", *([f"https://{host}"] if shared else [])}


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        return {key: morsel.value for key, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
