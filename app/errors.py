"""What a page shows when something goes wrong: a sentence, with the details one click away and in the log."""

from __future__ import annotations

import logging
import secrets
import traceback
from importlib.metadata import version

import streamlit as st

from isoplan.app.views.widgets.markdown import refuse
from isoplan.engine.errors import PlannerError

log = logging.getLogger("isoplan.page")


def show_error(error: Exception) -> bool:
    """Show what a page raised; returns True, so that Streamlit shows nothing of its own.

    What a user can put right is shown as it is. Anything else is logged with its traceback under a short number, and
    the page offers that number and the error's last line to copy; file paths and values stay in the log.
    """
    if isinstance(error, PlannerError):
        refuse(str(error))
        return True
    incident = secrets.token_hex(4)
    log.error("incident %s", incident, exc_info=error)
    st.error(
        "Something went wrong on this page. Nothing was lost; reload it, and if it happens again, "
        f"report incident {incident}.",
        icon=":material/error:",
    )
    with st.expander("Copy details"):
        st.caption("The whole traceback is in `logs/isoplan.log` in the workspace, under this incident's number.")
        st.code(details(error, incident), language=None)
    return True


def details(error: Exception, incident: str) -> str:
    """A few lines to paste into a report: versions, the kind of error and the place in our code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
    place = [
        f"{'/'.join(f.filename.replace(chr(92), '/').split('/')[-3:])}:{f.lineno} in {f.name}" for f in frames[-3:]
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("isoplan", "streamlit", "plotly", "duckdb"))
    return "\n".join([f"incident {incident}", versions, type(error).__name__, *place])
