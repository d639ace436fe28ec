"""The HTML around the pages: Streamlit's own, with the server's address, our name and our icon written in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

PAGES = ("", "data", "fit", "explore", "plan")
STATIC = Path(__file__).parent / "static"
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


@cache
def html() -> str:
    """The shell that every page shares."""
    text = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    text = re.sub(r'<link\s+rel="(?:shortcut )?icon"[^>]*>', "", text)
    text = re.sub(r"<title>.*?</title>", "<title>Isoplan</title>", text, flags=re.DOTALL)
    text = re.sub(r"<noscript>.*?</noscript>", NOSCRIPT, text, flags=re.DOTALL)
    return text.replace("<head>", "<head>" + HEAD, 1)


async def _page(_request: Request) -> Response:
    return HTMLResponse(html(), headers={"Cache-Control": "no-cache"})


async def _icon(_request: Request) -> Response:
    return FileResponse(ICON, headers={"Cache-Control": "max-age=86400"})


def routes() -> list[Route]:
    """The addresses of the pages and of the icon."""
    return [*(Route(f"/{page}", _page) for page in PAGES), Route("/icon.svg", _icon)]
