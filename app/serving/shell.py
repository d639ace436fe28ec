"""The HTML around the pages: Streamlit's, with the server's address, the name and the icon of Isoplan."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import streamlit
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from isoplan.app.components import script

PAGES = ("", "data", "fit", "explore", "plan", "train", "recommender", "precision", "amplitude")
"""Addresses of pages; ``amplitude`` is an older address of Precision."""
FIGURES = ("fit", "explore", "plan", "recommender", "precision")
UNKNOWN = "unknown"
"""Query parameter of Home that contains a requested address without a page."""
SERVICES = frozenset({"_stcore", "api", "app", "component", "healthz", "media", "static", "vendor"})
"""First parts of addresses that are not pages: files and services of Streamlit and of the server."""
STATIC = Path(__file__).parents[1] / "static"
ICON, LOGO = STATIC / "icon.svg", STATIC / "logo.svg"

# Without it the front end first looks for its server below the page of a deep link, and every first visit logs errors.
# The colours prevent a white flash in dark mode before the theme is loaded.
HEAD = """
    <script>
      const root = new URL("./", window.location.href).href;
      window.__streamlit = { BACKEND_BASE_URL: root, MAIN_PAGE_BASE_URL: root };
    </script>
    <style>
      :root { color-scheme: light dark; background: #ffffff; }
      @media (prefers-color-scheme: dark) { :root { background: #0f171c; } }
    </style>
    <link rel="icon" href="./icon.svg" type="image/svg+xml" />"""
NOSCRIPT = "<noscript><p>Isoplan needs JavaScript to draw its pages.</p></noscript>"


# Figures need a library of 4.5 MB. Pages that start with a figure load it while the browser waits for the server.
EARLY = f"""
    <script>
      (() => {{
        {script("plotly.js")}
        window.requestIdleCallback?.(() => plotly().catch(() => undefined));
      }})();
    </script>"""


@cache
def html(page: str = "") -> str:
    """Return the HTML shell of a page."""
    text = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    text = re.sub(r'<link\s+rel="(?:shortcut )?icon"[^>]*>', "", text)
    text = re.sub(r"<title>.*?</title>", "<title>Isoplan</title>", text, flags=re.DOTALL)
    text = re.sub(r"<noscript>.*?</noscript>", NOSCRIPT, text, flags=re.DOTALL)
    return text.replace("<head>", "<head>" + HEAD + (EARLY if page in FIGURES else ""), 1)


def inline_scripts() -> tuple[str, ...]:
    """Return the inline scripts of the pages as sources of a Content-Security-Policy: ``'sha256-...'``."""
    found = (body for page in ("", *FIGURES) for body in re.findall(r"<script>(.*?)</script>", html(page), re.DOTALL))
    digests = (base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in found)
    return tuple(dict.fromkeys(f"'sha256-{digest}'" for digest in digests))


async def _page(request: Request) -> Response:
    return HTMLResponse(html(request.url.path.strip("/")), headers={"Cache-Control": "no-cache"})


async def _icon(_request: Request) -> Response:
    return FileResponse(ICON, headers={"Cache-Control": "max-age=86400"})


class _NoPage(Route):
    """A route for addresses that a browser opens as a page but that do not exist, other than files and services."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the address of a page, by the accepted content types of the request and the start of its path."""
        match, child = super().matches(scope)
        if match is not Match.FULL or not _is_page(Request(scope)):
            return Match.NONE, {}
        return match, child


def _is_page(request: Request) -> bool:
    first = request.url.path.strip("/").partition("/")[0]
    return "text/html" in request.headers.get("accept", "") and first not in SERVICES


async def _unknown(request: Request) -> Response:
    """Redirect an unknown address to Home, which names it, or an address such as ``plan/`` to the page.

    Otherwise Streamlit shows its own dialog, or a page without its scripts.
    """
    address = str(request.path_params["address"])
    root, name = "../" * address.count("/") or "./", address.rstrip("/")
    return RedirectResponse(f"{root}{name}" if name in PAGES else f"{root}?{urlencode({UNKNOWN: name})}")


def routes() -> list[Route]:
    """Return the routes of the pages and of the icon."""
    return [
        *(Route(f"/{page}", _page) for page in PAGES),
        Route("/icon.svg", _icon),
        _NoPage("/{address:path}", _unknown),
    ]
