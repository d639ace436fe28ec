"""Requests of the command `isoplan backup` for a copy of a database that the app has open.

The command writes the request ``.backup/<id>.ask``. The app copies the database to ``.backup/<id>.duckdb`` and writes
its answer to ``.backup/<id>.json``. The folder ``.backup`` is in the workspace. It belongs to the user of the app, and
no other user can access it. No port is opened, and a request contains no path. While requests wait, the app updates the
heartbeat file ``.backup/beat-app`` every second. The command waits while this file changes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.backup import Contents, copy_closed, copy_open
from isoplan.engine.store.database.damage import FILE
from isoplan.engine.store.database.database import Database, Owner, WorkspaceInUse, this_process
from isoplan.trainers.backend.store.files import read_json, write_json

FOLDER, BEAT = ".backup", "beat-app"
LOOK = 1.0
"""Interval in seconds at which the app looks for requests and updates its heartbeat."""
POLL = 0.2
"""Interval in seconds at which the command looks for the answer of the app."""
STILL = 60.0
"""Seconds without a new heartbeat after which the command stops waiting and reports an error."""
ASKED = 3
"""Maximum number of requests that one command writes.

The app removes a request without answering it if the app stops or if the disk is full. The command then writes another
request.
"""
_ID = re.compile(r"[0-9a-f]{16}")

log = logging.getLogger("isoplan.backup")


@contextlib.contextmanager
def answering(db: Database, root: Path) -> Iterator[None]:
    """Run a thread that answers requests for copies of ``db`` until the context ends. ``root`` is the workspace."""
    folder, ending = root / FOLDER, threading.Event()
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not _is_ours(folder):
        log.error(
            "`isoplan backup` gets no copies, because %s is not a folder of this user: remove it and restart the app",
            folder,
        )
        yield
        return
    _sweep(folder)
    thread = threading.Thread(target=_answer_all, args=(db, folder, ending), name="backup", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        # The folder is not removed if it still contains requests. The commands that wrote these requests make their
        # copies themselves.
        with contextlib.suppress(OSError):
            (folder / BEAT).unlink(missing_ok=True)
            folder.rmdir()


def _answer_all(db: Database, folder: Path, ending: threading.Event) -> None:
    while not ending.wait(LOOK):
        try:
            asked = [place for place in sorted(folder.glob("*.ask")) if _ID.fullmatch(place.stem)]
            if asked:
                with _beating(folder / BEAT):
                    for place in asked:
                        _answer(db, place)
        except Exception as error:
            log.error("A backup failed: %s", error, exc_info=error)


def _answer(db: Database, place: Path) -> None:
    """Copy the database for the request file ``place``, write the answer, and always remove the request."""
    try:
        if (asker := _asker(place)) is not None and asker.alive:
            write_json(place.with_suffix(".json"), _copy(db, place.with_suffix(".duckdb"), asker))
    finally:
        place.unlink(missing_ok=True)


def _copy(db: Database, target: Path, asker: Owner) -> dict[str, object]:
    """Copy the database to ``target`` and return the answer for the process ``asker``.

    The answer has the key 'contents' with the contents of the copy, or the key 'error' with the reason for a failure.
    """
    try:
        contents = copy_open(db, target)
    except PlannerError as error:
        return {"error": str(error)}
    except Exception as error:
        log.error("A backup failed: %s", error, exc_info=error)
        return {"error": f"The app could not copy the database ({type(error).__name__}): see the log of the app."}
    log.info("the database was copied for a backup by process %d on %s", asker.pid, asker.host)
    return {"contents": contents.model_dump()}


def _asker(place: Path) -> Owner | None:
    """Return the process that wrote the request file ``place``; None if the file is unreadable or not a request."""
    try:
        return Owner.model_validate_json(place.read_bytes())
    except (OSError, ValidationError):
        return None


def _is_ours(folder: Path) -> bool:
    """Return whether ``folder`` is a real folder of this user, not a link, and no other user can write to it."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _sweep(folder: Path) -> None:
    """Remove the files of earlier requests, except the requests of commands that still run."""
    for place in folder.iterdir():
        if not _ID.fullmatch(place.stem) and place.name != BEAT:
            continue
        asker = _asker(place) if place.suffix == ".ask" else None
        if asker is None or not asker.alive:
            with contextlib.suppress(OSError):
                place.unlink()


@contextlib.contextmanager
def _beating(place: Path) -> Iterator[None]:
    over = threading.Event()

    def beat() -> None:
        while True:
            with contextlib.suppress(OSError):
                place.write_text(str(time.time()))
            if over.wait(LOOK):
                return

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def database_copy(root: Path, scratch: Path) -> Iterator[tuple[Path, Contents]]:
    """Yield the path of a copy of the database of the workspace ``root``, and the contents of the copy.

    If no process has the database open, the copy is made here in the folder ``scratch``. Otherwise, the app with the
    open database makes the copy. The copy is removed when the context ends. Raises PlannerError if the database is
    damaged, or if the process that has the database open does not answer.
    """
    request = root / FOLDER / f"{secrets.token_hex(8)}.ask"
    try:
        yield _copied(root, scratch / FILE, request)
    finally:
        left = [request.with_suffix(suffix) for suffix in (".new", ".ask", ".duckdb", ".duckdb.wal", ".json")]
        for place in (scratch / FILE, *left):
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)


def _copied(root: Path, target: Path, request: Path) -> tuple[Path, Contents]:
    """Return the path of a copy of the database, and the contents of the copy.

    The function repeats three steps until it has a copy. First, it uses the copy that the app has made for ``request``,
    if there is one. Second, it copies the database to ``target`` if no process has the database open. Third, it writes
    ``request``, so that the app makes a copy. Raises PlannerError if the app does not answer.
    """
    asked, beat, moved = 0, "", time.monotonic()
    while True:
        if (contents := _answered(request)) is not None:
            return request.with_suffix(".duckdb"), contents
        try:
            return target, copy_closed(root, target)
        except WorkspaceInUse as error:
            refusal = str(error)
        if not request.exists() and not request.with_suffix(".json").exists():
            if asked == ASKED:
                raise PlannerError(f"The app that has {root} open did not answer a request for a copy: see its log.")
            asked += _ask(request)
        if (seen := _text(request.with_name(BEAT))) != beat:
            beat, moved = seen, time.monotonic()
        if time.monotonic() - moved > STILL:
            raise PlannerError(f"{refusal} The app did not answer the request for a copy for {STILL:g} s.")
        time.sleep(POLL)


def _ask(request: Path) -> bool:
    """Write the file ``request`` and return True. If the folder ``.backup`` does not exist, return False.

    Without this folder, no app answers requests. Raises PlannerError if the request cannot be written, for example
    because another user started the app.
    """
    fresh = request.with_suffix(".new")
    try:
        fresh.write_text(this_process().model_dump_json(), encoding="utf-8")
        fresh.replace(request)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise PlannerError(
            f"The app that has {request.parents[1]} open cannot be asked for a copy ({error.strerror}): run the "
            "backup as the user who started the app, or free some disk space."
        ) from None
    return True


def _answered(request: Path) -> Contents | None:
    """Return the contents of the copy that the app made for ``request``; None if there is no answer yet.

    Raises PlannerError if the answer of the app is an error.
    """
    answer = read_json(request.with_suffix(".json"))
    if answer is None:
        return None
    if "error" in answer:
        raise PlannerError(str(answer["error"]))
    return Contents.model_validate(answer["contents"])


def _text(place: Path) -> str:
    try:
        return place.read_text()
    except OSError:
        return ""
