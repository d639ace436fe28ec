"""Log output: a log file in the workspace with all details, and a console that shows one sentence per record."""

from __future__ import annotations

import logging
import re
from logging.handlers import MemoryHandler, RotatingFileHandler
from pathlib import Path

from streamlit.logger import _loggers

LOG_BYTES = 2_000_000
LOG_FILES = 5
QUERY = re.compile(r"(/[^\s\"'?]*)\?[^\s\"']+")
"""Pattern of the query in an address (URL), from the question mark on.

Whole queries are removed from the logs, because the name of the parameter 'token' can be encoded, for example as
``%74oken``.
"""

# Stores the records that are logged before a workspace is open. ``to_file`` writes them to the log file later.
_early = MemoryHandler(capacity=1000, flushLevel=logging.CRITICAL + 1)


class WithoutToken(logging.Filter):
    """Filter that removes the query (after ?) of logged addresses. A query can contain the token of a shared server.

    For example, uvicorn logs the whole address of a refused WebSocket.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "?" in text:
            record.msg, record.args = QUERY.sub(r"\1?...", text), ()
        return True


class Sentence(logging.Formatter):
    """Formatter that writes only the first line of a message. The traceback is only in the log file."""

    def format(self, record: logging.LogRecord) -> str:
        return "isoplan: " + record.getMessage().partition("\n")[0]


def to_console() -> None:
    """Set up the log output of the server before a workspace is open.

    Warnings and errors of Isoplan go to standard error, one line each. All records are also buffered for the log file.
    """
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
    """Write all records, with tracebacks, to ``logs/isoplan.log`` in the workspace. Return the path of this file."""
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
    """Remove the console handlers of Streamlit's loggers, so that their tracebacks are only in the log file.

    The access log of uvicorn is dropped, because the address of a shared server contains the token.
    """
    for name, logger in _loggers.items():
        for handler in [*logger.handlers]:
            logger.removeHandler(handler)
        logger.propagate = name != "uvicorn.access"
