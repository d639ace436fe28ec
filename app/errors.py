"""Errors on a page: the page shows one sentence and folded details. The traceback is only in the log."""

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
    """Show an error of a page. Return True, which tells Streamlit not to show the error itself.

    An error that the user can correct (PlannerError) is shown with its own message. Any other error is logged with its
    traceback and a short incident number. The page then shows this number and lines that the user can copy into a
    report. The message of the error and file paths outside Isoplan are only in the log.
    """
    if isinstance(error, PlannerError):
        refuse(str(error))
        return True
    incident = secrets.token_hex(4)
    log.error("incident %s", incident, exc_info=error)
    st.error(
        "Something went wrong on this page. Nothing was lost. Reload the page. If the error occurs again, "
        f"report incident {incident}.",
        icon=":material/error:",
    )
    with st.expander("Copy details"):
        st.caption("The whole traceback is in `logs/isoplan.log` in the workspace, under this incident's number.")
        st.code(details(error, incident), language=None)
    return True


def details(error: Exception, incident: str) -> str:
    """Return a few lines for an error report.

    The lines contain the incident number, the versions of the main packages, the type of the error, and up to
    three places in the code (file, line and function) where it was raised.
    """
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
    place = [
        f"{'/'.join(f.filename.replace(chr(92), '/').split('/')[-3:])}:{f.lineno} in {f.name}" for f in frames[-3:]
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("isoplan", "streamlit", "plotly", "duckdb"))
    return "\n".join([f"incident {incident}", versions, type(error).__name__, *place])
