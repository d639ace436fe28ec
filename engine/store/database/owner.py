"""Owner of a workspace: ``owner.json`` in its folder, and whether that process still runs.

The lock itself is DuckDB's lock on the file, which the system releases when the process ends for any reason.
``owner.json`` only identifies the process. A file left behind by a killed process is recognised and replaced.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

OWNER_FILE = "owner.json"


class Owner(BaseModel):
    """The process that has a workspace open. ``start`` distinguishes it from a later process with the same pid."""

    model_config = ConfigDict(frozen=True)
    pid: int
    host: str
    start: str
    url: str = ""

    @property
    def alive(self) -> bool:
        """Whether this process still runs; assumed for a process on another host."""
        return self.host != socket.gethostname() or process_start(self.pid) == self.start


def process_start(pid: int) -> str | None:
    """Return the start time of process ``pid`` as text to compare; None if it does not run or the time is unknown."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] == "Z" else fields[19]  # field 22 of proc(5): start in clock ticks since boot
    if os.name == "posix":
        listed = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return listed.stdout.strip() or None
    return None


def this_process(url: str = "") -> Owner:
    """Return the owner record of the current process."""
    pid = os.getpid()
    return Owner(pid=pid, host=socket.gethostname(), start=process_start(pid) or "", url=url)


def owner(folder: Path) -> Owner | None:
    """Read ``owner.json`` of a workspace; None if it does not exist or cannot be read."""
    try:
        return Owner.model_validate_json((folder / OWNER_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def write_owner(folder: Path, record: Owner) -> None:
    """Replace ``owner.json`` atomically."""
    fresh = folder / f".{OWNER_FILE}.{record.pid}"
    fresh.write_text(record.model_dump_json(), encoding="utf-8")
    fresh.replace(folder / OWNER_FILE)


def clear_owner(folder: Path) -> None:
    """Remove ``owner.json``; called by the process recorded in it."""
    (folder / OWNER_FILE).unlink(missing_ok=True)
