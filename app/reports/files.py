"""Files of reports: the format follows from the ending."""

from __future__ import annotations

from pathlib import Path

from isoplan.app.reports.content import Report
from isoplan.app.reports.printed_pages import pdf_report
from isoplan.app.reports.web_page import html_report
from isoplan.engine.errors import PlannerError

WRITERS = {".html": html_report, ".pdf": pdf_report}
"""Functions that write a report, by the ending of the file."""


def write_report(report: Report, path: Path) -> None:
    """Write ``report`` to ``path``, as HTML or PDF by its ending.

    Raises PlannerError for another ending, and for a path that cannot be written.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise PlannerError(f"Path: a report has no ending {path.suffix!r}. Use {' or '.join(WRITERS)}.")
    made = writer(report)
    try:
        path.write_bytes(made)
    except OSError as error:
        raise PlannerError(f"{path} cannot be written ({error.strerror}): check the folder.") from None
