"""A report as a PDF of at most four A4 pages. The package Typst makes the pages and has fonts for European languages.

The template ``report.typ`` gets the report as JSON. Texts of users are therefore data and never code.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import typst

from isoplan.app.figures.style.theme import paper
from isoplan.app.reports.content import Report, Section, readable
from isoplan.app.reports.svg_figure import draw_svg
from isoplan.engine.errors import PlannerError

TEMPLATE = Path(__file__).with_name("report.typ")
MOST_PAGES = 4
WIDE_MM, NARROW_MM = 172.0, 83.0
"""Widths of a figure in millimetres: the full width of the text, and the width of one of two columns."""
MOST_WIDE = 2
"""Maximum number of figures of the full text width. A report with more figures shows all figures in two columns."""
FITS = ((9.5, None), (8.5, None), (7.5, None), (7.5, 60), (7.5, 30), (7.5, 12))
"""Pairs that are tried in this order: font size in points, and maximum number of source rows (None: no maximum)."""
NARROWEST, WIDEST = 11, 40
"""Minimum and maximum of the relative width of a table column, in letters."""
PAGES = re.compile(rb"/Type ?/Pages ?/Count (\d+)")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters and surrogates: fonts do not show them, and JSON or PDF must not contain them."""

FOREIGN = re.compile(r"[\u0530-\u1dff\u2c00-\ufefe\U00010000-\U0001fffd\U00020000-\U0003fffd]")
"""Characters that the fonts of Typst lack, such as Chinese. A report with such characters uses system fonts."""


def pdf_report(report: Report) -> bytes:
    """Return ``report`` as a PDF of at most ``MOST_PAGES`` pages.

    If the report is longer, smaller fonts are tried. If it is still longer, the last sources are left out and the PDF
    states this. Raises PlannerError if no attempt is short enough.
    """
    content = _content(report)
    for points, most in FITS:
        made = compile_pages(_shortened(content, points, most))
        found = PAGES.search(made)
        if found is not None and int(found[1]) <= MOST_PAGES:
            return made
    raise PlannerError(f"The report is longer than {MOST_PAGES} pages: download it as HTML instead.")


def compile_pages(content: dict[str, Any], form: Literal["pdf", "png"] = "pdf") -> bytes:
    """Return a report in the format ``form``: all pages as "pdf", or only the first page as "png".

    The root folder for Typst contains only the template, so that the template cannot read any other file.
    """
    given = CONTROL.sub(" ", json.dumps(content, ensure_ascii=False))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(shutil.copy(TEMPLATE, folder))
        return typst.compile(
            page,
            root=Path(folder),
            ignore_system_fonts=FOREIGN.search(given) is None,
            format=form,
            sys_inputs={"report": given},
        )


def _content(report: Report) -> dict[str, Any]:
    """Return the report as a JSON object for the template."""
    document = report.document
    narrow = sum(one.draw is not None for one in report.sections) > MOST_WIDE
    return {
        "title": report.title,
        "sentence": readable(document.sentence),
        "standing": report.standing,
        "assumed": readable(report.assumed),
        "sections": [_section(one, NARROW_MM if narrow else WIDE_MM) for one in report.sections],
        "narrow": narrow,
        "numbers": _table(report.head, report.rows),
        "notes": list(map(readable, document.notes)),
        "sources": [
            {"title": one.title, "rows": [(name, readable(shown)) for name, shown in one.rows]}
            for one in report.sources
        ],
        "made": report.made,
    }


def _section(section: Section, width: float) -> dict[str, Any]:
    """Return a section of the report as a JSON object for the template, with the figure as SVG."""
    shown: dict[str, Any] = {"title": section.title, "text": readable(section.text), "svg": "", "alt": ""}
    if section.draw is not None:
        drawing = section.draw(paper(width, 9 if width == WIDE_MM else 8))
        shown |= {"svg": draw_svg(drawing.figure), "alt": drawing.alt, "width": width}
    return {**shown, "table": _table(section.head, [[readable(cell) for cell in row] for row in section.rows])}


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    widths = [_width(column) for column in zip(head, *rows, strict=True)]
    return {"head": head, "rows": rows, "widths": widths}


def _width(column: Sequence[str]) -> int:
    """Return the relative width of a table column: the length of its longest text, limited to a minimum and maximum."""
    return min(max(max(map(len, column)) + 2, NARROWEST), WIDEST)


def _shortened(content: dict[str, Any], points: float, most: int | None) -> dict[str, Any]:
    """Return the content with the font size ``points`` and at most ``most`` rows of sources."""
    left, kept, cut = most, [], False
    for one in content["sources"]:
        rows = one["rows"] if left is None else one["rows"][:left]
        cut = cut or len(rows) < len(one["rows"])
        left = None if left is None else left - len(rows)
        if rows:
            kept.append({**one, "rows": rows})
    missing = "The HTML report lists all sources." if cut else ""
    return {**content, "sources": kept, "size": points, "missing": missing}
