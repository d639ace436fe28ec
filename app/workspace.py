"""The workspace that this server has open, and the settings of the server.

Pages get the database and the settings from this module. They do not open a workspace.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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


def default_folder() -> Path:
    """Return the default workspace folder and create it.

    The folder is ``$XDG_DATA_HOME/isoplan`` or, if this is not writable, ``~/.isoplan``. For a user without a home
    folder, such as a service account or a container, it is a private folder in the system's temporary folder. Raises
    PlannerError if the private folder belongs to another user.
    """
    for folder in _homes():
        if _writable(folder):
            return folder
    own = Path(tempfile.gettempdir()) / f"isoplan-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid") and own.lstat().st_uid != os.getuid():
        raise PlannerError(f"{own} belongs to another user: name a folder of yours with --workspace.")
    return own


def usual_folder() -> Path:
    """Return the default workspace folder.

    If the user has a home folder, the default folder is not created. Without a home folder, the function creates and
    returns the temporary folder of ``default_folder``.
    """
    return next(_homes(), None) or default_folder()


def existing_folder() -> Path:
    """Return the existing default workspace folder. Raises PlannerError if the home folder has no workspace."""
    found = [folder for folder in _homes() if folder.is_dir()]
    if not found and (usual := next(_homes(), None)) is not None:
        raise PlannerError(f"There is no workspace at {usual}: name its folder with --workspace.")
    return found[0] if found else default_folder()


def _homes() -> Iterator[Path]:
    data = os.environ.get("XDG_DATA_HOME", "")
    if data and Path(data).is_absolute():
        yield Path(data) / "isoplan"
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE")
    if home and Path(home).is_dir():
        yield Path(home) / ".isoplan"


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
