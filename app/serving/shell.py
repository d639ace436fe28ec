"""The HTML around the pages: Streamlit's own, with the server's address, our name and our icon written in."""

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

from isoplan.app.components.scripts import script

PAGES = ("", "data", "fit", "explore", "plan", "train", "recommender", "precision", "amplitude")
"""Addresses of pages; ``amplitude`` is an older one of Precision."""
FIGURES = ("fit", "explore", "plan", "recommender", "precision")
UNKNOWN = "unknown"
"""Name in the link of Home: an address that was asked for and that no page has."""
SERVICES = frozenset({"_stcore", "api", "app", "component", "healthz", "media", "static", "vendor"})
"""The first part of addresses that are no pages: files and services of Streamlit and of the server."""
STATIC = Path(__file__).parents[1] / "static"
ICON, LOGO = STATIC / "icon.svg", STATIC / "logo.svg"

# Without it the front end looks for its server below the page of a deep link first, and every first visit logs errors.
# The colours keep the screen from flashing white in the dark before the theme arrives.
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


# Figures need a library of 4.5 MB: on pages that open with one it comes while the browser waits for the server anyway.
EARLY = f"""
    <script>
      (() => {{
        {script("plotly.js")}
        window.requestIdleCallback?.(() => plotly().catch(() => undefined));
      }})();
    </script>"""


@cache
def html(page: str = "") -> str:
    """The shell of a page."""
    text = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    text = re.sub(r'<link\s+rel="(?:shortcut )?icon"[^>]*>', "", text)
    text = re.sub(r"<title>.*?</title>", "<title>Isoplan</title>", text, flags=re.DOTALL)
    text = re.sub(r"<noscript>.*?</noscript>", NOSCRIPT, text, flags=re.DOTALL)
    return text.replace("<head>", "<head>" + HEAD + (EARLY if page in FIGURES else ""), 1)


def inline_scripts() -> tuple[str, ...]:
    """The scripts that stand in the HTML of the pages, as sources of a Content-Security-Policy: ``'sha256-...'``."""
    found = (body for page in ("", *FIGURES) for body in re.findall(r"<script>(.*?)</script>", html(page), re.DOTALL))
    digests = (base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in found)
    return tuple(dict.fromkeys(f"'sha256-{digest}'" for digest in digests))


async def _page(request: Request) -> Response:
    return HTMLResponse(html(request.url.path.strip("/")), headers={"Cache-Control": "no-cache"})


async def _icon(_request: Request) -> Response:
    return FileResponse(ICON, headers={"Cache-Control": "max-age=86400"})


class _NoPage(Route):
    """A route for addresses that a browser opens as a page and that none has; files and services have their own."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the address of a page, by what the request accepts and by where its path begins."""
        match, child = super().matches(scope)
        if match is not Match.FULL or not _is_page(Request(scope)):
            return Match.NONE, {}
        return match, child


def _is_page(request: Request) -> bool:
    first = request.url.path.strip("/").partition("/")[0]
    return "text/html" in request.headers.get("accept", "") and first not in SERVICES


async def _unknown(request: Request) -> Response:
    """Redirect to Home, which names the address, or from ``plan/`` to the page.

    Otherwise Streamlit opens a dialog of its own, or a page without its scripts.
    """
    address = str(request.path_params["address"])
    root, name = "../" * address.count("/") or "./", address.rstrip("/")
    return RedirectResponse(f"{root}{name}" if name in PAGES else f"{root}?{urlencode({UNKNOWN: name})}")


def routes() -> list[Route]:
    """The addresses of the pages and of the icon."""
    return [
        *(Route(f"/{page}", _page) for page in PAGES),
        Route("/icon.svg", _icon),
        _NoPage("/{address:path}", _unknown),
    ]
