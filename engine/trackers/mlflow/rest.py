"""Requests to the REST API of a tracking server. Credentials come from MLflow's environment variables."""

from __future__ import annotations

import base64
import os
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.servers import Server, ask, opener

API = "api/2.0/mlflow/"
ACCESS = "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"


def server_at(place: str) -> Server:
    """Return the server at an address. The address can also name one experiment (``.../#/experiments/3``).

    Raises PlannerError for an address that contains a user name.
    """
    address, _, page = place.partition("#")
    if "@" in urlsplit(address).netloc:
        raise PlannerError(f"The address of an MLflow server cannot contain a user name: remove it, and set {ACCESS}.")
    experiment = re.match(r"/experiments/(\d+)", page)
    return Server(
        address.rstrip("/"),
        experiment[1] if experiment else "",
        "a tracking server of MLflow",
        ACCESS,
        "one experiment, with its address in the browser (.../#/experiments/3)",
        _access(address),
        opener(_context()),
    )


def _access(address: str) -> dict[str, str]:
    """Return the HTTP header with the token or password from MLflow's environment variables.

    If MLFLOW_TRACKING_URI names a server, the token or password is sent only to this server. If MLFLOW_TRACKING_URI
    begins with https, the token or password is not sent over http.
    """
    own = urlsplit(os.environ.get("MLFLOW_TRACKING_URI", ""))
    asked = urlsplit(address)
    if own.netloc and own.netloc.rpartition("@")[2].lower() != asked.netloc.lower():
        return {}
    if own.netloc and own.scheme == "https" and asked.scheme != "https":
        return {}
    user, password, token = (
        os.environ.get(f"MLFLOW_TRACKING_{key}", "").strip() for key in ("USERNAME", "PASSWORD", "TOKEN")
    )
    if user and password:
        return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}
    return {"Authorization": f"Bearer {token}"} if token else {}


def _context() -> ssl.SSLContext:
    """Return the TLS settings. MLflow's environment variables can name certificates or turn off their check."""
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


def pages(
    server: Server,
    path: str,
    key: str,
    query: Sequence[tuple[str, str]] = (),
    body: Mapping[str, Any] | None = None,
) -> Iterator[Any]:
    """Yield the entries of the list ``key`` from all pages of an answer."""
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
