"""An answer as files: its JSON, and its table as CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

Rows = Sequence[Mapping[str, str]]


def exports(name: str, body: Mapping[str, Any], rows: Rows) -> None:
    """The three buttons, in a line at the right; ``rows`` are those of the page without Markdown."""
    files = {
        "JSON": (json.dumps(body, indent=2), "json", "application/json"),
        "CSV": (as_csv(rows), "csv", "text/csv"),
        "Markdown": (as_markdown(rows), "md", "text/markdown"),
    }
    downloads(name, files)


def downloads(name: str, files: Mapping[str, tuple[str, str, str]]) -> None:
    """A button for each file, in a line at the right: text, ending and MIME type by the word on the button."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        for label, (text, ending, mime) in files.items():
            st.download_button(
                label,
                text,
                f"{name}.{ending}",
                mime,
                icon=":material/download:",
                on_click="ignore",
                key=f"{name}_{label}",
            )


def as_csv(rows: Rows) -> str:
    """The rows under their header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_markdown(rows: Rows) -> str:
    """The rows as a table of Markdown."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"
