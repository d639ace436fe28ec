"""Connection to the database of a workspace (one DuckDB file, or memory), with many readers and one writer.

Each read has its own cursor. One thread executes all writes one after the other. Each write is a transaction. A write
that conflicts with another transaction is repeated.

The lock of a workspace is DuckDB's lock on the file. The operating system releases this lock when the process ends, for
any reason. ``owner.json`` only identifies the process. If a process was killed, its ``owner.json`` still exists; the
next process that opens the workspace replaces it.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from pydantic import BaseModel, ConfigDict, ValidationError

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import migration, sql
from isoplan.engine.store.database.damage import FILE as FILE
from isoplan.engine.store.database.damage import advice, explain, explained, refuse_damaged_wal

TRIES = 5
OWNER_FILE = "owner.json"
Cursor = duckdb.DuckDBPyConnection
T = TypeVar("T")

# DuckDB must not download extensions. It needs no extension for the file formats that Isoplan supports.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}
_open_here: set[Path] = set()
_open_lock = threading.Lock()


class WorkspaceInUse(PlannerError):
    """Error: another process has the workspace open."""


def first(cursor: Cursor, query: str, parameters: Sequence[object] = ()) -> tuple[Any, ...] | None:
    """Run a query and return its first row, or None. All rows are fetched, so the cursor can be used again."""
    rows = cursor.execute(query, list(parameters)).fetchall()
    return rows[0] if rows else None


class Database:
    """An open database. ``folder`` is the folder of its workspace, or None for a database in memory.

    Call ``close`` after use, or use it in a ``with`` block.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path | None = None) -> None:
        self.folder = folder
        self._connection = connection
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._closed = False

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def read(self) -> Iterator[Cursor]:
        """Yield a cursor for reading, which is closed at the end of the block."""
        self._check_open()
        with explained(self.folder):
            cursor = self._connection.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    def write(self, change: Callable[[Cursor], T]) -> T:
        """Run ``change(cursor)`` as a transaction in the writer's thread, and return its result.

        After a conflict with another transaction, ``change`` is called again, so it must not have effects outside the
        database. Any other exception rolls the transaction back and is raised to the caller.
        """
        self._check_open()
        if threading.current_thread().name.startswith("store-writer"):
            raise RuntimeError("write() must not be called inside another write, because it would wait for itself")
        with explained(self.folder):
            return self._writer.submit(self._transact, change).result()

    def close(self) -> None:
        """Finish all submitted writes, close the file and release the workspace. A second call has no effect."""
        if self._closed:
            return
        self._closed = True
        self._writer.shutdown(wait=True)
        self._connection.close()
        if self.folder is not None:
            clear_owner(self.folder)
            _open_here.discard(self.folder)

    def _check_open(self) -> None:
        if self._closed:
            raise PlannerError("The workspace is closed: start Isoplan again.")

    def _transact(self, change: Callable[[Cursor], T]) -> T:
        for attempt in range(TRIES):
            cursor = self._connection.cursor()
            try:
                cursor.begin()
                result = change(cursor)
                cursor.commit()
                return result
            except duckdb.TransactionException:
                if attempt == TRIES - 1:
                    raise
                time.sleep(0.01 * 2**attempt)
            finally:
                cursor.close()  # this also rolls back uncommitted changes
        raise AssertionError("unreachable")


class Owner(BaseModel):
    """The process that has a workspace open.

    ``start`` is the start time of the process. A later process with the same pid has another start time.
    """

    model_config = ConfigDict(frozen=True)
    pid: int
    host: str
    start: str
    url: str = ""

    @property
    def alive(self) -> bool:
        """Whether the process still runs. A process on another host is assumed to run."""
        return self.host != socket.gethostname() or process_start(self.pid) == self.start


def process_start(pid: int) -> str | None:
    """Return the start time of process ``pid`` as text, for comparison with a stored start time.

    Returns None if the process does not run or its start time cannot be determined.
    """
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] == "Z" else fields[19]  # field 22 in proc(5): start time in clock ticks since boot
    if os.name == "posix":
        listed = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return listed.stdout.strip() or None
    return None


def this_process(url: str = "") -> Owner:
    """Return the record of the current process as the owner of a workspace."""
    pid = os.getpid()
    return Owner(pid=pid, host=socket.gethostname(), start=process_start(pid) or "", url=url)


def owner(folder: Path) -> Owner | None:
    """Read ``owner.json`` of a workspace; return None if the file does not exist or cannot be read."""
    try:
        return Owner.model_validate_json((folder / OWNER_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def write_owner(folder: Path, record: Owner) -> None:
    """Write ``owner.json`` of a workspace atomically."""
    fresh = folder / f".{OWNER_FILE}.{record.pid}"
    fresh.write_text(record.model_dump_json(), encoding="utf-8")
    fresh.replace(folder / OWNER_FILE)


def clear_owner(folder: Path) -> None:
    """Remove ``owner.json``. Only the process that is recorded in the file may call this function."""
    (folder / OWNER_FILE).unlink(missing_ok=True)


def memory() -> Database:
    """Open an empty store in memory, which has no files and no lock."""
    connection = _connect(":memory:")
    migration.create(connection)
    return Database(connection)


def open_workspace(folder: Path, *, url: str = "") -> Database:
    """Open (or create) the workspace in ``folder`` and lock it.

    ``url`` is the web address of this process. If a second process tries to open the workspace, its error message
    contains this address. Raises PlannerError if another process has the workspace open, if a newer Isoplan wrote it,
    or if the folder or its database cannot be used.
    """
    folder = folder.expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlannerError(
            f"The workspace {folder} cannot be created ({error.strerror}): choose another folder."
        ) from None
    with _open_lock:
        if folder in _open_here:
            raise WorkspaceInUse(_in_use(folder))
        connection = _open_file(folder)
        try:
            write_owner(folder, this_process(url))
        except OSError as error:
            connection.close()
            raise PlannerError(
                f"The workspace {folder} cannot be written ({error.strerror}): choose another folder."
            ) from None
        _open_here.add(folder)
    return Database(connection, folder)


@contextmanager
def read_closed(folder: Path) -> Iterator[Cursor]:
    """Open a cursor on the database of a workspace that no process has open for writing.

    The folder is not changed. Other processes may read the database at the same time, but none can open it for writing.
    Raises WorkspaceInUse if a process has the workspace open for writing. Raises PlannerError if the database cannot be
    read.
    """
    folder = folder.expanduser().resolve()
    if folder in _open_here:
        raise WorkspaceInUse(_in_use(folder))
    refuse_damaged_wal(folder)
    connection = _connect(":memory:")
    try:
        with _named_errors(folder):
            connection.execute(f"ATTACH {sql.text(str(folder / FILE))} AS workspace (READ_ONLY)")
        connection.execute("USE workspace")
        with explained(folder):
            migration.refuse_newer(_layout(connection, folder), folder / FILE)
            yield connection
    finally:
        connection.close()


def _open_file(folder: Path) -> duckdb.DuckDBPyConnection:
    file = folder / FILE
    connection = _connect_file(folder)
    try:
        found = _layout(connection, folder)
        migration.refuse_newer(found, file)
        with explained(folder):
            if found == 0:
                migration.create(connection)
            elif found < migration.SCHEMA:
                connection.execute("CHECKPOINT")
                connection.close()
                migration.keep_copy(file, found)
                connection = _connect_file(folder)
                migration.migrate(connection, found)
    except BaseException:
        connection.close()
        raise
    return connection


def _layout(connection: Cursor, folder: Path) -> int:
    """Return the layout number of an open database; 0 if the database is empty.

    Raises PlannerError if the layout number is missing or not valid. The message tells the user what to do.
    """
    with explained(folder):
        try:
            return migration.schema_of(connection)
        except migration.BadLayout as error:
            raise PlannerError(f"{folder / FILE}: {error} {advice(folder)}") from None


def _connect_file(folder: Path) -> duckdb.DuckDBPyConnection:
    refuse_damaged_wal(folder)
    with _named_errors(folder):
        return _connect(str(folder / FILE))


@contextmanager
def _named_errors(folder: Path) -> Iterator[None]:
    """Convert DuckDB errors in the block into a PlannerError. The block opens the database in ``folder``."""
    try:
        yield
    except duckdb.Error as error:
        text = str(error)
        if "Could not set lock" in text or "Unique file handle conflict" in text:
            raise WorkspaceInUse(_in_use(folder, text)) from None
        if "Permission denied" in text or "Read-only file system" in text:
            raise PlannerError(f"{folder / FILE} cannot be written: choose another folder with --workspace.") from None
        if "newer version" in text or "storage version" in text.lower():
            raise PlannerError(f"{folder / FILE} was written by a newer DuckDB: update Isoplan to open it.") from None
        sentence = explain(error, folder)
        if sentence is not None:
            raise sentence from None
        raise PlannerError(f"{folder / FILE} cannot be opened: {text.splitlines()[0][:200]}") from None


def _connect(file: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(file, config=_CONFIG)
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def _in_use(folder: Path, message: str = "") -> str:
    """Return the error message for a workspace that is in use. The message names the process that uses the workspace.

    If ``owner.json`` does not name a running process, the pid is read from ``message``, the error message of DuckDB.
    """
    holder = owner(folder)
    if holder is not None and holder.alive:
        where = f" at {holder.url}" if holder.url else ""
        return (
            f"The workspace {folder} is open in another Isoplan{where} (process {holder.pid} on {holder.host}): "
            "use that one, stop it, or choose another folder with --workspace."
        )
    stranger = re.search(r"PID (\d+)", message)
    who = f"process {stranger[1]}" if stranger else "another program"
    return f"{folder / FILE} is locked by {who}: end that program, or choose another folder with --workspace."
