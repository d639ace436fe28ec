"""Requests to the REST API of a tracking server, with the access that MLflow's own environment variables give."""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

from isoplan.engine.errors import PlannerError

SECONDS = 60
"""Longest time without an answer, in seconds."""
MAX_ANSWER_BYTES = 256 * 1024**2
"""Largest size of one answer."""
API = "api/2.0/mlflow/"
ACCESS = "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"


@dataclass(frozen=True)
class Server:
    """A tracking server: its address without a final slash, the headers of requests, and its opener.

    ``experiment`` is the id of the only experiment to read, or empty.
    """

    address: str
    experiment: str
    headers: Mapping[str, str] = field(repr=False)
    opener: urllib.request.OpenerDirector = field(repr=False)


class Missing(PlannerError):
    """The server does not know a request (status 404)."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follow no redirect, because the headers of a request contain the password of the user."""

    def redirect_request(self, *_: Any) -> None:
        return None


def server_at(place: str) -> Server:
    """Return the server at an address, which can also be that of an experiment (``.../#/experiments/3``).

    Raises PlannerError for an address that contains a user name.
    """
    address, _, page = place.partition("#")
    if "@" in urlsplit(address).netloc:
        raise PlannerError(f"The address of an MLflow server cannot contain a user name: remove it, and set {ACCESS}.")
    experiment = re.match(r"/experiments/(\d+)", page)
    opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=_context()))
    return Server(address.rstrip("/"), experiment[1] if experiment else "", _access(address), opener)


def _access(address: str) -> dict[str, str]:
    """Return the header with the user's token or password, as MLflow makes it from environment variables.

    If MLFLOW_TRACKING_URI names a server, no other server gets them.
    """
    own = urlsplit(os.environ.get("MLFLOW_TRACKING_URI", ""))
    if own.netloc and own.netloc.rpartition("@")[2].lower() != urlsplit(address).netloc.lower():
        return {}
    user, password, token = (
        os.environ.get(f"MLFLOW_TRACKING_{key}", "").strip() for key in ("USERNAME", "PASSWORD", "TOKEN")
    )
    if user and password:
        return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}
    return {"Authorization": f"Bearer {token}"} if token else {}


def _context() -> ssl.SSLContext:
    """Return the rules for certificates: those of the system, or those that MLflow's environment variables name."""
    file = os.environ.get("MLFLOW_TRACKING_SERVER_CERT_PATH") or None
    try:
        context = ssl.create_default_context(cafile=file)
    except OSError as error:
        raise PlannerError(
            f"MLFLOW_TRACKING_SERVER_CERT_PATH: {file} cannot be read ({error}). Name a file with certificates."
        ) from None
    if os.environ.get("MLFLOW_TRACKING_INSECURE_TLS", "").lower() in ("true", "1"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask(
    server: Server, path: str, query: Sequence[tuple[str, str]] = (), body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON object with which the server answers: to GET, or to POST if there is a ``body``.

    Raises Missing if the server does not know ``path``, and PlannerError if it does not answer with a JSON object.
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
                f"{server.address} answers with more than {MAX_ANSWER_BYTES / 1024**2:g} MB: import one "
                "experiment, with its address in the browser (.../#/experiments/3)."
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
        raise not_mlflow(server) from None
    if not isinstance(answer, dict):
        raise not_mlflow(server)
    return answer


def _refusal(server: Server, error: HTTPError) -> PlannerError:
    """Return the error for an answer with an error status."""
    if error.code in (401, 403):
        return PlannerError(f"{server.address} refuses access (status {error.code}): set {ACCESS}.")
    if error.code == 404:
        return Missing(f"{server.address} is not a tracking server of MLflow (status 404): check the address.")
    if 300 <= error.code < 400:
        target = error.headers.get("Location", "")[:200]
        return PlannerError(f"{server.address} redirects to {target}: use the address of the tracking server itself.")
    text = error.read(2000).decode(errors="replace")
    try:
        text = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = str(error.reason)
    return PlannerError(f"{server.address} answers with status {error.code} ({text[:200]}): try again later.")


def not_mlflow(server: Server) -> PlannerError:
    """Return the error for an answer that is not one of MLflow."""
    return PlannerError(f"{server.address} is not a tracking server of MLflow: check the address.")


def pages(
    server: Server,
    path: str,
    key: str,
    query: Sequence[tuple[str, str]] = (),
    body: Mapping[str, Any] | None = None,
) -> Iterator[Any]:
    """Yield the entries of the list ``key`` in all pages of an answer."""
    token, seen = "", set[str]()
    while token not in seen:
        seen.add(token)
        if body is None:
            answer = ask(server, path, [*query, *([("page_token", token)] if token else [])])
        else:
            answer = ask(server, path, body={**body, **({"page_token": token} if token else {})})
        yield from answer.get(key) or []
        token = answer.get("next_page_token") or ""
        if not token:
            return
