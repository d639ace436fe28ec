"""The HTML around the pages: the HTML of Streamlit with the server's address, and the name and icon of Isoplan."""

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

PAGES = ("", "story", "data", "fit", "explore", "plan", "train", "recommender", "precision", "amplitude")
"""Paths of the pages in the address. ``amplitude`` is an older path of the page Precision."""
FIGURES = ("", "story", "fit", "explore", "plan", "recommender", "precision")
UNKNOWN = "unknown"
"""Query parameter of Home that contains an address for which no page exists. Home shows a message with this address."""
SERVICES = frozenset({"_stcore", "api", "app", "component", "healthz", "media", "static", "vendor"})
"""First parts of the paths of files and services of Streamlit and of this server. These paths are not pages."""
STATIC = Path(__file__).parents[1] / "static"
ICON, LOGO = STATIC / "icon.svg", STATIC / "logo.svg"

# Without this script, Streamlit's front end first looks for its server below the path of the page (/plan/...), and
# every first visit of a page logs errors. The colours prevent a white flash in dark mode before the theme is loaded.
# Streamlit draws a placeholder of 40 pixels for each widget until its code is loaded. To avoid a visible change of the
# layout, the page stays hidden until its first widgets are drawn (at most 15 seconds). The space of the menu is
# reserved.
HEAD = """
    <script>
      const root = new URL("./", window.location.href).href;
      window.__streamlit = { BACKEND_BASE_URL: root, MAIN_PAGE_BASE_URL: root };
      document.documentElement.classList.add("loading");
      let began;
      const reveal = () => {
        const main = document.querySelector('[data-testid="stMain"]');
        if (main?.querySelector('h1, [role="alert"]')) began ??= performance.now();
        const waited = began === undefined ? 0 : performance.now() - began;
        const ended = document.querySelector('[data-test-script-state="notRunning"]');
        const whole = !main?.querySelector('[data-testid="stSkeleton"]') && (waited > 1000 || (began && ended));
        if (whole || waited > 15000) document.documentElement.classList.remove("loading");
        else setTimeout(reveal, 40);
      };
      reveal();
    </script>
    <style>
      :root { color-scheme: light dark; background: #ffffff; }
      @media (prefers-color-scheme: dark) { :root { background: #0f171c; } }
      .loading [data-testid="stMainBlockContainer"], .loading [data-testid="stMainBlockContainer"] * {
        visibility: hidden !important;
      }
      @media (min-width: 769px) {
        .loading [data-testid="stAppViewContainer"]:not(:has([data-testid="stSidebar"]))::before {
          content: ""; flex: none; width: 300px;
        }
      }
    </style>
    <link rel="icon" href="./icon.svg" type="image/svg+xml" />"""
NOSCRIPT = "<noscript><p>Isoplan needs JavaScript to draw its pages.</p></noscript>"


# Figures need plotly.js (4.5 MB). On pages that start with a figure, the browser loads plotly.js while it waits for the
# server.
EARLY = f"""
    <script>
      (() => {{
        {script("plotly.js")}
        window.requestIdleCallback?.(() => plotly().catch(() => undefined));
      }})();
    </script>"""


HISTORY = f"""
    <script>
      {script("history.js")}
    </script>"""


@cache
def html(page: str = "") -> str:
    """Return the HTML of the page with the path ``page``, such as 'plan', as text."""
    text = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    text = re.sub(r'<link\s+rel="(?:shortcut )?icon"[^>]*>', "", text)
    text = re.sub(r"<title>.*?</title>", "<title>Isoplan</title>", text, flags=re.DOTALL)
    text = re.sub(r"<noscript>.*?</noscript>", NOSCRIPT, text, flags=re.DOTALL)
    return text.replace("<head>", "<head>" + HEAD + HISTORY + (EARLY if page in FIGURES else ""), 1)


def inline_scripts() -> tuple[str, ...]:
    """Return one Content-Security-Policy source per inline script: the hash of the script, ``'sha256-...'``."""
    found = (body for page in ("", *FIGURES) for body in re.findall(r"<script>(.*?)</script>", html(page), re.DOTALL))
    digests = (base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in found)
    return tuple(dict.fromkeys(f"'sha256-{digest}'" for digest in digests))


async def _page(request: Request) -> Response:
    return HTMLResponse(html(request.url.path.strip("/")), headers={"Cache-Control": "no-cache"})


async def _icon(_request: Request) -> Response:
    return FileResponse(ICON, headers={"Cache-Control": "max-age=86400"})


class _NoPage(Route):
    """Route for addresses that a browser opens as a page, although no page, file or service has this address."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request that accepts HTML if its path does not start with a name in ``SERVICES``."""
        match, child = super().matches(scope)
        if match is not Match.FULL or not _is_page(Request(scope)):
            return Match.NONE, {}
        return match, child


def _is_page(request: Request) -> bool:
    first = request.url.path.strip("/").partition("/")[0]
    return "text/html" in request.headers.get("accept", "") and first not in SERVICES


async def _unknown(request: Request) -> Response:
    """Redirect an unknown address to Home, where a message names the address.

    An address such as ``plan/`` is redirected to the page ``plan``. Without this route, Streamlit shows its own dialog
    for an unknown address, and shows ``plan/`` as a page without scripts.
    """
    address = str(request.path_params["address"])
    root, name = "../" * address.count("/") or "./", address.rstrip("/")
    return RedirectResponse(f"{root}{name}" if name in PAGES else f"{root}?{urlencode({UNKNOWN: name})}")


def routes() -> list[Route]:
    """Return the routes of all pages, of the icon, and of addresses without a page."""
    return [
        *(Route(f"/{page}", _page) for page in PAGES),
        Route("/icon.svg", _icon),
        _NoPage("/{address:path}", _unknown),
    ]
