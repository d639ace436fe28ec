"""The log file of a workspace, and a console that shows sentences only."""

from __future__ import annotations

import logging
import re
from logging.handlers import MemoryHandler, RotatingFileHandler
from pathlib import Path

from streamlit.logger import _loggers

LOG_BYTES = 2_000_000
LOG_FILES = 5
QUERY = re.compile(r"(/[^\s\"'?]*)\?[^\s\"']+")
"""The query of an address. It can contain the token in any spelling, for example ``%74oken``."""

# Keeps what happens before a workspace is open; its file takes it over then.
_early = MemoryHandler(capacity=1000, flushLevel=logging.CRITICAL + 1)


class WithoutToken(logging.Filter):
    """Records without the token of a shared address: uvicorn names the address of a WebSocket that is refused."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "?" in text:
            record.msg, record.args = QUERY.sub(r"\1?...", text), ()
        return True


class Sentence(logging.Formatter):
    """One line a record: tracebacks belong to the log file."""

    def format(self, record: logging.LogRecord) -> str:
        return "isoplan: " + record.getMessage().partition("\n")[0]


def to_console() -> None:
    """Send our own warnings and errors to standard error, a line each; everything else waits for the file."""
    console = logging.StreamHandler()
    console.setLevel(logging.WARNING)
    console.setFormatter(Sentence())
    console.addFilter(WithoutToken())
    logging.getLogger("isoplan").addHandler(console)
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(_early)
    logging.captureWarnings(True)
    _adopt_streamlit_loggers()


def to_file(workspace: Path) -> Path:
    """Send everything, tracebacks included, to ``logs/isoplan.log`` in the workspace; returns that file."""
    folder = workspace / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "isoplan.log"
    handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES - 1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(WithoutToken())
    root = logging.getLogger()
    root.addHandler(handler)
    root.removeHandler(_early)
    _early.setTarget(handler)
    _early.flush()
    _adopt_streamlit_loggers()
    return path


def _adopt_streamlit_loggers() -> None:
    """Streamlit gives every logger a console handler of its own; with these gone its tracebacks reach the file only.

    Addresses that were asked for are not logged: a shared one holds the token.
    """
    for name, logger in _loggers.items():
        for handler in [*logger.handlers]:
            logger.removeHandler(handler)
        logger.propagate = name != "uvicorn.access"
