"""Buttons that download an answer as a report: an HTML file with figures, or a PDF of A4 pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from isoplan.app.reports.content import Report

Make = Callable[[], "Report"]
"""Function that makes a report. It is called when a button is pressed."""


def report_buttons(name: str, make: Make) -> None:
    """Show the buttons "Download report (HTML)" and "Download PDF" for the report that ``make`` returns.

    ``name`` is the file name without the extension. A file is written when its button is pressed.
    """
    for label, write, ending, mime in (
        ("Download report (HTML)", _html, "html", "text/html"),
        ("Download PDF", _pdf, "pdf", "application/pdf"),
    ):
        st.download_button(
            label,
            partial(write, make),
            f"{name}.{ending}",
            mime,
            icon=":material/description:" if ending == "html" else ":material/picture_as_pdf:",
            on_click="ignore",
            key=f"{name}_{ending}",
        )


def _html(make: Make) -> bytes:
    from isoplan.app.reports.web_page import html_report

    return html_report(make())


def _pdf(make: Make) -> bytes:
    from isoplan.app.reports.printed_pages import pdf_report

    return pdf_report(make())
