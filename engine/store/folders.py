"""Default folder of a workspace: a folder of the user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from isoplan.engine.errors import PlannerError


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
