"""Requests to the servers of trackers. The answers are JSON objects. Redirects are not followed."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from isoplan.engine.errors import PlannerError

SECONDS = 60
"""Longest time to wait for an answer, in seconds."""
MAX_ANSWER_BYTES = 256 * 1024**2
"""Largest size of one answer."""


@dataclass(frozen=True)
class Server:
    """A server of a tracker: its address without a final slash, the headers of requests, and its opener.

    ``experiment`` is the experiment or project to read, or empty for all. The other texts are used in error messages.
    ``title`` describes the expected kind of server. ``access`` names the variables that contain the password. ``part``
    names a smaller part to import if an answer is too large.
    """

    address: str
    experiment: str
    title: str
    access: str
    part: str
    headers: Mapping[str, str] = field(repr=False)
    opener: urllib.request.OpenerDirector = field(repr=False)


class Missing(PlannerError):
    """Error for a path that does not exist on the server (status 404)."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that does not follow redirects.

    The headers of a request contain the password of the user, and a redirect could send it to another server.
    """

    def redirect_request(self, *_: Any) -> None:
        return None


def opener(context: ssl.SSLContext | None = None) -> urllib.request.OpenerDirector:
    """Return a URL opener that does not follow redirects. ``context`` contains the rules for certificates."""
    return urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))


def ask(
    server: Server, path: str, query: Sequence[tuple[str, str]] = (), body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Send a request and return the JSON object in the answer. The method is POST if there is a ``body``, else GET.

    Raises Missing if ``path`` does not exist on the server, and PlannerError if it does not answer with a JSON object.
    """
    address = f"{server.address}/{path}" + (f"?{urlencode(query)}" if query else "")
    data = None if body is None else json.dumps(body).encode()
    headers = {**server.headers, "Content-Type": "application/json", "Accept": "application/json"}
    try:
        request = urllib.request.Request(address, data, headers)
        with server.opener.open(request, timeout=SECONDS) as response:
            content = response.read(MAX_ANSWER_BYTES + 1)
        if len(content) > MAX_ANSWER_BYTES:
            raise PlannerError(
                f"{server.address} answers with more than {MAX_ANSWER_BYTES / 1024**2:g} MB: import {server.part}."
            )
        answer = json.loads(content)
    except HTTPError as error:
        with error:
            raise _refusal(server, error) from None
    except TimeoutError:
        raise PlannerError(f"{server.address} has not answered for {SECONDS} s: try again later.") from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise PlannerError(
            f"{server.address} cannot be reached ({reason}): check the address, and that the server runs."
        ) from None
    except (ValueError, RecursionError):
        raise _not_understood(server) from None
    if not isinstance(answer, dict):
        raise _not_understood(server)
    return answer


def _refusal(server: Server, error: HTTPError) -> PlannerError:
    """Return the error for an answer with an error status."""
    if error.code in (401, 403):
        return PlannerError(f"{server.address} refuses access (status {error.code}): set {server.access}.")
    if error.code == 404:
        return Missing(f"{server.address} is not {server.title} (status 404): check the address.")
    if 300 <= error.code < 400:
        target = error.headers.get("Location", "")[:200]
        return PlannerError(f"{server.address} redirects to {target}: use the address of the server itself.")
    text = error.read(2000).decode(errors="replace")
    try:
        text = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = str(error.reason)
    return PlannerError(f"{server.address} answers with status {error.code} ({text[:200]}): try again later.")


@contextmanager
def understood(server: Server) -> Iterator[None]:
    """Raise PlannerError if the ``with`` block reads a part of an answer that is missing or has the wrong type."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _not_understood(server) from None


def _not_understood(server: Server) -> PlannerError:
    """Return the error for an answer with an unexpected form."""
    return PlannerError(f"{server.address} is not {server.title}: check the address.")
