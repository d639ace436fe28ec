"""Files of an autopilot: ``autopilots/<key>/spec.json`` and ``decisions.jsonl``, one line per decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from isoplan.app.autopilot.decisions import Decision
from isoplan.app.autopilot.specification import Specification
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.heartbeat import hold_lock

AUTOPILOTS, SPEC, DECISIONS, LOCK = "autopilots", "spec.json", "decisions.jsonl", "lock"


def folder_of(root: Path, spec: Specification) -> Path:
    """Return the folder of an autopilot in the workspace ``root``."""
    return root / AUTOPILOTS / spec.key


@contextmanager
def only_here(root: Path, spec: Specification) -> Iterator[None]:
    """Hold the lock of an autopilot for the block. Raises PlannerError if another process holds it."""
    folder = folder_of(root, spec)
    with files.room(root):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / LOCK) as got:
        if not got:
            raise PlannerError("This autopilot runs in another process: wait for it, or stop it with Ctrl+C there.")
        yield


def read_decisions(root: Path, spec: Specification) -> tuple[Decision, ...]:
    """Return the stored decisions, in order. Lines from the first damaged line on are ignored."""
    try:
        lines = (folder_of(root, spec) / DECISIONS).read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    found = list[Decision]()
    for line in lines:
        try:
            decision = Decision.model_validate_json(line)
        except ValidationError:
            break
        if decision.number != len(found) + 1:
            break
        found.append(decision)
    return tuple(found)


def keep_decisions(root: Path, spec: Specification, decisions: Sequence[Decision]) -> None:
    """Store all decisions of an autopilot. After a power cut, the complete old or the complete new file exists."""
    folder = folder_of(root, spec)
    with files.room(root):
        folder.mkdir(parents=True, exist_ok=True)
    if not (folder / SPEC).exists():
        files.write_json(folder / SPEC, {"schema": 1, **spec.model_dump(mode="json")})
    text = "".join(f"{one.model_dump_json()}\n" for one in decisions)
    files.write_bytes(folder / DECISIONS, text.encode(), "autopilot-decision")
