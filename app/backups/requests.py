"""Requests for a copy of a database that the app has open, made by `isoplan backup`.

The command writes ``.backup/<id>.ask``; the app copies the database to ``.backup/<id>.duckdb`` and answers in
``.backup/<id>.json``. The folder is in the workspace, belongs to the app's user and is closed to others; no port is
open, and a request contains no path. While requests wait, the app updates the heartbeat file ``beat-app`` every second,
and the command waits as long as it changes.
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
"""Seconds between two checks of the app for requests, and between two heartbeats."""
POLL = 0.2
"""Seconds between two checks of the command for its answer."""
STILL = 60.0
"""Seconds without a heartbeat after which the command gives up."""
ASKED = 3
"""Maximum number of requests. A request that the app removed without an answer (stopped, or disk full) is repeated."""
_ID = re.compile(r"[0-9a-f]{16}")

log = logging.getLogger("isoplan.backup")


@contextlib.contextmanager
def answering(db: Database, root: Path) -> Iterator[None]:
    """Answer requests for copies of ``db``, whose workspace is ``root``, until the context ends."""
    folder, ending = root / FOLDER, threading.Event()
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not _is_ours(folder):
        log.error(
            "%s is not a folder of this user, so `isoplan backup` gets no copies: remove it and start again", folder
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
        with contextlib.suppress(OSError):  # waiting commands have requests here; they then copy themselves
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
    """Copy the database for one request, and remove the request in any case."""
    try:
        if (asker := _asker(place)) is not None and asker.alive:
            write_json(place.with_suffix(".json"), _copy(db, place.with_suffix(".duckdb"), asker))
    finally:
        place.unlink(missing_ok=True)


def _copy(db: Database, target: Path, asker: Owner) -> dict[str, object]:
    """Copy the database and return the answer: its contents, or the reason why there is no copy."""
    try:
        contents = copy_open(db, target)
    except PlannerError as error:
        return {"error": str(error)}
    except Exception as error:
        log.error("A backup failed: %s", error, exc_info=error)
        return {"error": f"The app could not copy the database ({type(error).__name__}): its log says more."}
    log.info("the database was copied for a backup by process %d on %s", asker.pid, asker.host)
    return {"contents": contents.model_dump()}


def _asker(place: Path) -> Owner | None:
    """Return the process that wrote the request, or None."""
    try:
        return Owner.model_validate_json(place.read_bytes())
    except (OSError, ValidationError):
        return None


def _is_ours(folder: Path) -> bool:
    """Return whether this user owns the folder, nobody else can write to it, and it is not a link."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _sweep(folder: Path) -> None:
    """Remove files of ended processes; requests of commands that still wait are kept."""
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
    """Yield a copy of the database of ``root`` and its contents.

    It is made here in ``scratch``, or by the app that has the database open. Raises PlannerError if the database is
    damaged, or if the process that has it open does not answer.
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
    """Copy the database once it is closed, or request a copy from the app that has it open."""
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
                raise PlannerError(f"The app that has {root} open answered no request for a copy: its log says why.")
            asked += _ask(request)
        if (seen := _text(request.with_name(BEAT))) != beat:
            beat, moved = seen, time.monotonic()
        if time.monotonic() - moved > STILL:
            raise PlannerError(f"{refusal} It gave no copy of the database for {STILL:g} s.")
        time.sleep(POLL)


def _ask(request: Path) -> bool:
    """Write a request for a copy; return False if no app accepts requests.

    Raises PlannerError if another user's app has the database open.
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
            "backup as the user who started it, or free some of the disk."
        ) from None
    return True


def _answered(request: Path) -> Contents | None:
    """Return the contents of the copy that the app made, or None if there is no answer yet.

    Raises PlannerError if the copy failed.
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
