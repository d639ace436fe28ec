"""Storage of compiled kernels in the user's cache folder.

The name of the folder contains a hash of the source code of the kernels, the version of the compiler, and the
processor. The kernels are therefore compiled again if the code changes, or if another computer uses the same home
folder. An outdated kernel is never loaded.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

DONE = "complete"
CONSTANTS = ("descent", "linear", "penalty", "philox")
"""Modules outside this folder whose constants are compiled into the kernels."""


@cache
def folder() -> Path | None:
    """Return the cache folder for this user, version and processor; None if no folder can be written."""
    for home in _homes():
        found = home / f"kernels-{_version()}"
        if _writable(found):
            return found
    return None


def is_complete() -> bool:
    """Return whether the cache folder contains all compiled kernels."""
    found = folder()
    return found is not None and (found / DONE).exists()


def complete(where: Path) -> None:
    """Create a marker file in the folder ``where``. It shows that the folder contains all compiled kernels."""
    (where / DONE).touch()


def _homes() -> Iterator[Path]:
    given = os.environ.get("XDG_CACHE_HOME", "")
    if given and Path(given).is_absolute():
        yield Path(given) / "isoplan"
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE")
    if home and Path(home).is_dir():
        yield (
            Path(home) / {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache") / "isoplan"
        )
    own = Path(tempfile.gettempdir()) / f"isoplan-cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    if _ours(own):
        yield own


def _ours(own: Path) -> bool:
    """Return whether only this user can write to the folder ``own``, which is in a shared directory.

    Other users must not be able to change the files, because this process executes them.
    """
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        state = own.lstat()
    except OSError:
        return False
    return not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & 0o022 and own.is_dir())


def _writable(where: Path) -> bool:
    try:
        where.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=where):
            return True
    except OSError:
        return False


@cache
def _version() -> str:
    here = Path(__file__).parent
    read = [*here.glob("*.py"), *(here.parent / f"{name}.py" for name in CONSTANTS)]
    sources = b"".join(p.read_bytes() for p in sorted(read))
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else [platform.processor()]
    about = [str(here), version("numba"), version("llvmlite"), sys.version, platform.machine()]
    about += sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    return hashlib.sha256(sources + "|".join(about).encode()).hexdigest()[:12]
