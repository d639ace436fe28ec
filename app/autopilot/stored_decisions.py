"""Files of an autopilot, in the folder ``autopilots/<key>`` of a workspace.

``spec.json`` contains the question, ``grid.toml`` the grid, ``extended.toml`` the grid with the cells that a user has
added, ``orders.json`` the orders of users, and ``decisions.jsonl`` one decision per line. The process that works on the
autopilot holds ``lock``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from isoplan.app.autopilot.decisions import Decision
from isoplan.app.autopilot.orders import Orders
from isoplan.app.autopilot.specification import Specification
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.heartbeat import hold_lock, is_held
from isoplan.trainers.grid import Grid, write_grid

AUTOPILOTS, SPEC, DECISIONS, LOCK = "autopilots", "spec.json", "decisions.jsonl", "lock"
GRID, EXTENDED, ORDERS, LOG = "grid.toml", "extended.toml", "orders.json", "autopilot.log"
PATIENCE = 1.0
"""Seconds for which a process tries to get the lock. A process that checks whether the lock is held takes the lock for
a moment."""
Stored = TypeVar("Stored", bound=BaseModel)


def folder_of(root: Path, key: str) -> Path:
    """Return the folder of the autopilot ``key`` in the workspace ``root``."""
    return root / AUTOPILOTS / key


def stored_keys(root: Path) -> tuple[str, ...]:
    """Return the keys of the autopilots of a workspace that can continue from their files, oldest first."""
    found = [path.parent for path in (root / AUTOPILOTS).glob(f"*/{GRID}") if (path.parent / SPEC).exists()]
    return tuple(one.name for one in sorted(found, key=lambda one: ((one / SPEC).stat().st_mtime_ns, one.name)))


def store_autopilot(root: Path, spec: Specification, grid: Grid) -> None:
    """Store the question and the grid of a new autopilot. An existing one does not change."""
    folder = folder_of(root, spec.key)
    with files.room(root):
        folder.mkdir(parents=True, exist_ok=True)
    if not (folder / GRID).exists():
        files.write_bytes(folder / GRID, write_grid(grid).encode())
    if not (folder / SPEC).exists():
        files.write_json(folder / SPEC, {"schema": 1, **spec.model_dump(mode="json")})


def store_extended(root: Path, key: str, grid: Grid) -> None:
    """Store the grid with added cells, which replaces the grid of the autopilot ``key``."""
    files.write_bytes(folder_of(root, key) / EXTENDED, write_grid(grid).encode())


def is_extended(root: Path, key: str) -> bool:
    """Return whether a user has added cells to the grid of the autopilot ``key``."""
    return (folder_of(root, key) / EXTENDED).exists()


def grid_file(root: Path, key: str) -> Path:
    """Return the file of the present grid of the autopilot ``key``."""
    return folder_of(root, key) / (EXTENDED if is_extended(root, key) else GRID)


def read_spec(root: Path, key: str) -> Specification:
    """Return the question of the autopilot ``key``. Raises PlannerError if its file is damaged."""
    raw = files.read_json(folder_of(root, key) / SPEC) or {}
    spec = _valid(Specification, {name: x for name, x in raw.items() if name != "schema"})
    if spec is None:
        raise PlannerError(f"Autopilot {key[:8]}: its file {SPEC} is damaged. Start it again from its grid.")
    return spec


def read_orders(root: Path, key: str) -> Orders:
    """Return the orders for the autopilot ``key``; the default if there are none, and a pause if they are damaged."""
    place = folder_of(root, key) / ORDERS
    if not place.exists():
        return Orders()
    damaged = Orders(wanted="pause", why=f"The file {ORDERS} is damaged: set the cap again and continue.")
    return _valid(Orders, files.read_json(place) or {"wanted": ""}) or damaged


def write_orders(root: Path, key: str, orders: Orders) -> None:
    """Store the orders for the autopilot ``key``."""
    files.write_json(folder_of(root, key) / ORDERS, orders.model_dump(mode="json"))


def _valid(kind: type[Stored], raw: object) -> Stored | None:
    try:
        return kind.model_validate(raw)
    except ValidationError:
        return None


def is_working(root: Path, key: str) -> bool:
    """Return whether a process works on the autopilot ``key``."""
    return is_held(folder_of(root, key) / LOCK)


@contextmanager
def only_here(root: Path, key: str) -> Iterator[None]:
    """Hold the lock of an autopilot for the block. Raises PlannerError if another process holds it."""
    folder = folder_of(root, key)
    with files.room(root):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / LOCK, PATIENCE) as got:
        if not got:
            raise PlannerError("This autopilot runs in another process: wait for it, or stop it with --stop.")
        yield


def read_decisions(root: Path, key: str) -> tuple[Decision, ...]:
    """Return the stored decisions, in order. The first damaged line and all lines after it are ignored."""
    try:
        lines = (folder_of(root, key) / DECISIONS).read_bytes().split(b"\n")
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


def keep_decisions(root: Path, key: str, decisions: Sequence[Decision]) -> None:
    """Store all decisions of an autopilot. After a power cut, the complete old or the complete new file exists."""
    folder = folder_of(root, key)
    with files.room(root):
        folder.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{one.model_dump_json()}\n" for one in decisions)
    files.write_bytes(folder / DECISIONS, text.encode(), "autopilot-decision")
