"""Common parts of pages: heading, errors, numbers, tables, figures, file upload."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from isoplan.app import links
from isoplan.app.components import script
from isoplan.app.components.chart import moving_chart
from isoplan.app.components.download import figure_downloads
from isoplan.app.figures.style.theme import WEB, Drawing, Theme
from isoplan.app.views.widgets.markdown import escape_markdown as escape_markdown
from isoplan.app.views.widgets.markdown import refuse as refuse
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.warnings import FitWarning, Level, by_level
from isoplan.engine.quantities import number as number

LINK_HTML = '<button type="button">Copy link</button><span role="status"></span>'
LINK_CSS = """
:host, div { text-align: right; }
button {
  font: 400 0.875rem var(--st-font); color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.375rem);
  padding: 0.35rem 0.75rem; cursor: pointer; white-space: nowrap;
}
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
[role="status"] { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""

_button = st.components.v2.component("isoplan_copy_link", html=LINK_HTML, css=LINK_CSS, js=script("copy_link.js"))


def copy_link() -> None:
    """Show a button that copies the address of the page, with all its values, to the clipboard."""
    address = links.here()
    _button(data={"saved": address if "?view=" in address else ""}, key="copy_link")


_UNIT = re.compile(r"(?<=\d) (?=%|×|FLOPs\b|[kMBT]\b)|(?<=×) ")
"""Pattern of the space between a number and its unit. ``whole`` replaces this space by a no-break space."""
_EXPONENT = re.compile(r"(?<=[\d.)])e([+-]\d+)")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@contextmanager
def sentences() -> Iterator[None]:
    """Show a PlannerError from the ``with`` block as an error message, and continue with the rest of the page.

    A PlannerError is an error that the user can correct.
    """
    try:
        yield
    except PlannerError as error:
        refuse(str(error))


def whole(text: str) -> str:
    """Return ``text`` with a no-break space between each number and its unit."""
    return _UNIT.sub("\u00a0", text)


def powers(text: str) -> str:
    """Return ``text`` with powers of ten instead of exponents: 1.3 × 10⁴ for 1.3e+04."""
    return _EXPONENT.sub(lambda m: f" × 10{str(int(m[1])).translate(_RAISED)}", text)


def plural(count: int, noun: str) -> str:
    """Return the count with its noun, such as ``1 run`` or ``245 runs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Return ``names`` by key. If a name occurs more than once, the start of its key is appended to the name.

    A selection needs distinct names.
    """
    seen = Counter(names.values())
    return {key: name if seen[name] == 1 else f"{name} ({key[:6]})" for key, name in names.items()}


CSS = """<style>
[data-testid="stMainBlockContainer"] { max-width: 1280px; padding-top: 4.5rem; padding-bottom: 5rem; }
@media (max-width: 1200px) {
  [data-testid="stMainBlockContainer"] { padding-left: 2rem; padding-right: 2rem; }
}
[data-testid="stHeading"] h2 { font-size: 1.2rem; }
@media (min-width: 1201px) {
  [data-testid="stTable"] td:not(:first-child):not(:last-child) * { white-space: nowrap; }
}
[data-testid="stBaseButton-primary"]:enabled, [data-testid="stBaseButton-primary"]:enabled * {
  color: light-dark(#ffffff, #0f171c) !important;
}
[data-testid="stBaseButton-primary"]:disabled, [data-testid="stBaseButton-primary"]:disabled * {
  color: light-dark(#5c6b74, #a3b4bd) !important;
}
[class*="st-key-card_"] p { font-size: 0.9rem; }
[class*="st-key-card_"] [class*="st-key-value_"] p { font-size: 1.3rem; font-weight: 600; }
@media (max-width: 1200px) {
  [data-testid="stLayoutWrapper"]:has(> .st-key-runs_drawn, > .st-key-columns_read) {
    width: 100% !important; max-width: none !important; flex: 1 1 100% !important;
  }
  .st-key-runs_drawn, .st-key-columns_read { width: 100% !important; max-width: none !important; }
}
.st-key-explore_bar > :first-child { min-width: 14rem; }
.isoplan-open { color: inherit !important; text-decoration: none !important; display: flex; gap: 0.5rem;
  align-items: center; padding: 0.1rem 0.5rem; border-radius: 0.375rem; font-size: 0.875rem; }
.isoplan-open:hover { background: color-mix(in srgb, currentColor 8%, transparent); }
.isoplan-symbol { font-family: "Material Symbols Rounded"; font-size: 1rem; line-height: 1.6; }
.st-key-fit_head h2 { font-size: 1.75rem; padding-bottom: 0; }
.isoplan-table { width: 100%; border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
.isoplan-table th { text-align: left; font-weight: 400; opacity: 0.75; padding: 0.35rem 0.5rem; }
.isoplan-table td { padding: 0.35rem 0.5rem; border-top: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
.isoplan-why { cursor: help; text-decoration: underline dotted; }
.isoplan-unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.katex-display { padding-top: 0.4em; }
[data-testid="stTable"] td { font-variant-numeric: tabular-nums; }
</style>"""


def heading(title: str, text: str = "", link: bool = True) -> None:
    """Show the title of the page, its purpose ``text``, and the button that copies its link."""
    st.html(CSS)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(title, anchor=False, width="content")
        if link:
            with st.container(width=140, horizontal_alignment="right"):
                copy_link()
    if text:
        st.caption(text)


def show_warnings(warnings: Sequence[FitWarning]) -> None:
    """Show warnings as one line with the highest level and the most important warning; a click shows all."""
    if not warnings:
        return
    first, *others = by_level(warnings)
    colour, icon = LEVELS[first.level]
    more = f" ({len(others)} more)" if others else ""
    label = f":{colour}-badge[{first.level.capitalize()}] {escape_markdown(first.short)}{more}"
    with st.expander(label, icon=f":material/{icon}:"):
        for one in (first, *others):
            st.markdown(f":{LEVELS[one.level][0]}-badge[{one.level.capitalize()}] {escape_markdown(one.text)}")


LEVELS = {Level.STOP: ("red", "block"), Level.CAUTION: ("orange", "warning"), Level.NOTE: ("gray", "info")}
"""Colour and icon of each level of a warning."""


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar and yield the function that sets its fraction; remove the bar at the end."""
    bar = st.progress(0.0, text)

    def follow(share: float) -> None:
        bar.progress(min(max(share, 0.0), 1.0), f"{text}: {share:.0%}")

    try:
        yield follow
    finally:
        bar.empty()


CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"], "scrollZoom": False}


def draw(redraw: Callable[[Theme], Drawing], key: str, drawing: Drawing | None = None) -> None:
    """Show the figure of ``redraw(theme)`` with its alternative text and its downloads.

    ``drawing`` is the figure for the page if it is cached. Downloads call ``redraw`` with other themes.
    """
    drawing = drawing or redraw(WEB)
    moving_chart(drawing, key)
    figure_downloads(drawing, redraw, key)


def draw_selectable(
    redraw: Callable[[Theme], Drawing], key: str, drawing: Drawing | None = None, text: str = ""
) -> Any:
    """Show a figure in which the user selects runs by click or box; return Plotly's selection event.

    The caption ``text`` is next to the download buttons of the figure.
    """
    drawing = drawing or redraw(WEB)
    event = st.plotly_chart(
        drawing.figure,
        key=key,
        alt=drawing.alt,
        on_select="rerun",
        selection_mode=("points", "box"),
        config=CONFIG,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        figure_downloads(drawing, redraw, key)
        if text:
            st.caption(text, width="content")
    return event


def chosen_rows(event: Any) -> list[int]:
    """Return the table rows of the selected runs. Each point of the figure has its row id as the first custom data."""
    points = event["selection"]["points"] if event else []
    return sorted({row for p in points if (row := _row(p.get("customdata"))) is not None})


def _row(custom: Any) -> int | None:
    """Return the row id from the custom data of a point: a list, or an object with the keys "0", "1", ..."""
    first = (
        custom.get("0") if isinstance(custom, Mapping) else custom[0] if isinstance(custom, list) and custom else custom
    )
    return int(first) if isinstance(first, int | float) else None


DASH = "–"


@dataclass(frozen=True)
class Hint:
    """A cell of a table: its text, and a hover text. A cell without text is a dash, and the hover text states why."""

    text: str
    hint: str = ""

    @property
    def html(self) -> str:
        """The cell as HTML."""
        if self.text:
            return html.escape(self.text)
        why = html.escape(self.hint or "no value", quote=True)
        return (
            f'<span class="isoplan-why" tabindex="0" role="note" title="{why}" aria-label="none: {why}">{DASH}</span>'
        )


def show_hints(rows: Sequence[Mapping[str, Hint]], alt: str) -> None:
    """Show ``rows`` as a table in which a dash states its reason on hover."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{cell.html}</td>" for cell in row.values()) + "</tr>" for row in rows)
    caption = f'<caption class="isoplan-unseen">{html.escape(alt)}</caption>'
    table = f'<table class="isoplan-table">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    st.html(f'<div style="overflow-x: auto">{table}</div>')


NOTHING = {"-": "–"}
"""Replacement of a table cell that is only a hyphen, because Markdown would show the hyphen as a list."""


def readable(text: str) -> str:
    """Return ``text`` escaped for Markdown, with each number on the same line as its unit."""
    return whole(escape_markdown(text))


def show_table(rows: Iterable[dict[str, str]], alt: str) -> None:
    """Show ``rows`` as a table without columns that are empty in all rows; nothing if there are no rows."""
    lines = list(rows)
    used = [key for key in lines[0] if any(line[key] for line in lines)] if lines else []
    body = [{readable(key): readable(NOTHING.get(line[key], line[key])) for key in used} for line in lines]
    if body:
        st.table(body, border="horizontal", hide_index=True, alt=alt)


Take = Callable[[Any], None]


def receive_file(
    name: str, label: str, types: Sequence[str], megabytes: int, take: Take, text: str | None = None
) -> None:
    """Show the file box ``name``; call ``take(file)`` when the user chooses a file.

    If ``take`` raises PlannerError, the message is stored, and ``show_refusal`` shows it.
    """
    count = st.session_state.setdefault(f"{name}_read", 0)
    key = f"{name}_file_{count}"
    st.file_uploader(
        label, type=list(types), key=key, max_upload_size=megabytes, on_change=_read, args=(name, key, take), help=text
    )


def show_refusal(name: str) -> None:
    """Show why the last file in the upload box ``name`` was rejected. The message is shown only once."""
    if reason := st.session_state.pop(f"{name}_refused", ""):
        st.error(escape_markdown(reason), icon=":material/error:")


def _read(name: str, key: str, take: Take) -> None:
    sent = st.session_state[key]
    if sent is None:
        return
    st.session_state[f"{name}_read"] += 1
    try:
        take(sent)
    except PlannerError as error:
        st.session_state[f"{name}_refused"] = str(error)
