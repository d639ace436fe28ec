"""Pieces that every page is made of: heading, sentences for errors, numbers, figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from app.components.download import figure_downloads
from app.figures.drawing import Drawing
from app.figures.theme import WEB, Theme
from engine.errors import PlannerError
from engine.quantities import power10


@contextmanager
def sentences() -> Iterator[None]:
    """Show what a user can put right as a sentence where it happened, and let the rest of the page go on."""
    try:
        yield
    except PlannerError as error:
        st.error(str(error), icon=":material/error:")


def number(value: float, significant: int = 3) -> str:
    """A number for people: plain between 0.001 and 10,000, else a power of ten."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else power10(value)
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.{significant}g}" if abs(value) < 1000 else f"{value:,.0f}"
    return power10(value, significant)


def plural(count: int, noun: str) -> str:
    """``1 run``, ``245 runs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def plain(text: str) -> str:
    """Text of a user's that Markdown leaves as it is."""
    return "".join("\\" + c if c in r"\`*_{}[]<>()#+-.!|~$:&^" else c for c in text.replace("\n", " "))


def heading(title: str, text: str = "", link: bool = True) -> None:
    """The page's one heading of the first level, what the page is for, and the way to copy its link."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(title, anchor=False, width="content")
        if link:
            copy_link()
    if text:
        st.caption(text)


def copy_link() -> None:
    """The address of this page as it stands, to copy."""
    with st.popover("Link", icon=":material/link:", help="The address of this page with what is open on it"):
        query = urlencode({k: st.query_params.get_all(k) for k in st.query_params}, doseq=True)
        base = (st.context.url or "").partition("?")[0]
        st.code(f"{base}?{query}" if query else base, language=None, wrap_lines=True)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """A bar that follows the share that is done, and goes when all is."""
    bar = st.progress(0.0, text)

    def follow(share: float) -> None:
        bar.progress(min(max(share, 0.0), 1.0), f"{text}: {share:.0%}")

    try:
        yield follow
    finally:
        bar.empty()


CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"], "scrollZoom": False}


def draw(redraw: Callable[[Theme], Drawing], key: str, select: bool = False) -> Any:
    """A figure with its alternative text and its downloads; returns the selection where runs can be chosen."""
    drawing = redraw(WEB)
    event = st.plotly_chart(
        drawing.figure,
        key=key,
        alt=drawing.alt,
        on_select="rerun" if select else "ignore",
        selection_mode=("points", "box"),
        config=CONFIG,
    )
    figure_downloads(drawing, redraw, key)
    return event


def chosen_rows(event: Any) -> list[int]:
    """Row ids of the runs that were clicked or boxed in a figure whose points carry them as custom data."""
    points = event["selection"]["points"] if event else []
    return sorted({row for p in points if (row := _row(p.get("customdata"))) is not None})


def _row(custom: Any) -> int | None:
    if isinstance(custom, list | tuple):
        custom = custom[0] if custom else None
    return int(custom) if isinstance(custom, int | float) else None


def check_link(key: str, allowed: Collection[str]) -> None:
    """Name the value that the link gives for ``key`` where it is none of ``allowed``; call it before the widget.

    Only what this session arrived with is looked at: later values are the widget's own.
    """
    if st.session_state.get(f"checked_{key}"):
        return
    st.session_state[f"checked_{key}"] = True
    given = st.query_params.get(key)
    if given is not None and given not in allowed:
        some = ", ".join(list(allowed)[:4]) + (", ..." if len(allowed) > 4 else "")
        st.warning(
            f"The link asks for {plain(key)} = {plain(given[:60])}, which is not one of {plain(some)}; "
            "the page shows its usual value.",
            icon=":material/link_off:",
        )
