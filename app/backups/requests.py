"""How `isoplan backup` gets a copy of a database that the app has open: by a request below the workspace.

The command writes ``.backup/<id>.ask``; the app copies the database to ``.backup/<id>.duckdb`` and answers in
``.backup/<id>.json``. The folder is the app's and closed to other users, no port is open, and a request names no path.
While requests wait, the app changes the file ``beat-app`` every second: the command waits as long as that goes on.
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
from isoplan.engine.store.database.database import Database, WorkspaceInUse
from isoplan.engine.store.database.owner import Owner, this_process
from isoplan.trainers.backend.store.files import read_json, write_json

FOLDER, BEAT = ".backup", "beat-app"
LOOK = 1.0
"""Seconds between two looks of the app for requests, and between two beats."""
POLL = 0.2
"""Seconds between two looks of the command for its answer."""
STILL = 60.0
"""Seconds without a beat after which the command gives up."""
ASKED = 3
"""How often a request is made again that an app took without an answer: it was stopped, or its disk is full."""
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
        with contextlib.suppress(OSError):  # requests of commands that wait, which then copy by themselves
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
    """Copy the database for one request and take the request away, answered or not."""
    try:
        if (asker := _asker(place)) is not None and asker.alive:
            write_json(place.with_suffix(".json"), _copy(db, place.with_suffix(".duckdb"), asker))
    finally:
        place.unlink(missing_ok=True)


def _copy(db: Database, target: Path, asker: Owner) -> dict[str, object]:
    """Copy the database and return the answer: its contents, or why there is no copy."""
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
    """The process that asks."""
    try:
        return Owner.model_validate_json(place.read_bytes())
    except (OSError, ValidationError):
        return None


def _is_ours(folder: Path) -> bool:
    """Whether nobody else may write there, and it is where it seems to be."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _sweep(folder: Path) -> None:
    """Remove what ended processes left: all but the requests of commands that still wait."""
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
    """A copy of the database of ``root`` and its contents: made here in ``scratch``, or by the app that has it open.

    Raises PlannerError where the database is damaged, or the process that has it open gives no copy.
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
    """Copy the database as soon as nobody has it open, or let the app that has it open copy it."""
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
    """Ask for a copy; False where no app takes requests. Raises PlannerError where another user's app has it open."""
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
    """What the copy contains that the app made; None while there is none. Raises PlannerError where it failed."""
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
