"""Log file of a workspace, and a console that shows only sentences."""

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

# Buffers records before a workspace is open; then its log file receives them.
_early = MemoryHandler(capacity=1000, flushLevel=logging.CRITICAL + 1)


class WithoutToken(logging.Filter):
    """Filter that removes the token of a shared address: uvicorn logs the address of a refused WebSocket."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "?" in text:
            record.msg, record.args = QUERY.sub(r"\1?...", text), ()
        return True


class Sentence(logging.Formatter):
    """Formatter that writes one line per record; tracebacks are only in the log file."""

    def format(self, record: logging.LogRecord) -> str:
        return "isoplan: " + record.getMessage().partition("\n")[0]


def to_console() -> None:
    """Send Isoplan's warnings and errors to standard error, one line each; buffer all other records for the file."""
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
    """Send everything, tracebacks included, to ``logs/isoplan.log`` in the workspace, and return that file."""
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
    """Remove Streamlit's console handlers from its loggers, so that its tracebacks are only in the file.

    Requested addresses are not logged, because a shared one contains the token.
    """
    for name, logger in _loggers.items():
        for handler in [*logger.handlers]:
            logger.removeHandler(handler)
        logger.propagate = name != "uvicorn.access"
