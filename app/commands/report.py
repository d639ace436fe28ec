"""`isoplan report`: write a saved answer as an HTML file or as a PDF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoplan.app.commands.shared.output import read_fits_file, read_object, say


def report(
    answer: Annotated[
        str, typer.Argument(metavar="ANSWER.json", help="JSON output of `isoplan plan` or of another command.")
    ],
    fits: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIT.json...", help="Fits of the answer, for the figure and the sources."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .html or .pdf.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
) -> None:
    """Write a saved answer as an HTML file or as a PDF."""
    from isoplan.app.reports.saved_answers import read_report, write_report

    raw = read_object(answer, "isoplan plan --json")
    found = [fit for name in fits or () for fit in read_fits_file(name)]
    write_report(read_report(raw, found, title), out)
    say(f"Report: {out}")
