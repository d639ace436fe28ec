"""The workspace that this server has open, and the settings of the server.

Pages get the database and the settings from this module. They do not open a workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database


@dataclass(frozen=True)
class Settings:
    """Settings of a running server. ``shared`` is true if other people can open the server by a link with a token."""

    url: str = "http://localhost:8501"
    shared: bool = False

    @property
    def training(self) -> bool:
        """Whether pages can start training runs. The pages of a shared server cannot start them."""
        return not self.shared


_open: tuple[Database, Settings] | None = None


@contextmanager
def registered(database: Database, settings: Settings | None = None) -> Iterator[Database]:
    """Make ``current()`` return ``database``, and ``settings()`` the argument ``settings``, until the context ends."""
    global _open
    before, _open = _open, (database, settings or Settings())
    try:
        yield database
    finally:
        _open = before


def current() -> Database:
    """Return the open database of this server's workspace.

    Raises PlannerError if no workspace is open, for example if a page was started with ``streamlit run``.
    """
    if _open is None:
        raise PlannerError("No workspace is open: start the pages with `isoplan app`.")
    return _open[0]


def settings() -> Settings:
    """Return the settings of this server; the default settings if no server runs."""
    return _open[1] if _open else Settings()


def is_open() -> bool:
    """Return whether this server has a workspace open."""
    return _open is not None
