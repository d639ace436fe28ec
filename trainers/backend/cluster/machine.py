"""Resources of a machine, and the check whether a waiting cell fits in addition to the running cells."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isoplan.trainers.cell import Resources

MIB = 2**20
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files that contain the memory limit of a container (Linux cgroup v2 and v1)."""
AHEAD = 2
"""Maximum number of submitted cells per core. One cell runs and one waits, so no worker is idle between two cells."""


@dataclass(frozen=True)
class Machine:
    """Resources of a machine: number of cores, memory in bytes (0 if unknown), and memory of each GPU in bytes."""

    cores: int
    memory: float
    gpus: tuple[float, ...] = ()


@dataclass(frozen=True)
class Place:
    """The device on which a cell (training run) runs, and the resources that the cell uses on this device."""

    needs: Resources
    device: str


def this_machine(cores: int | None = None) -> Machine:
    """Return the resources of this machine.

    The resources are the cores and the memory that are available to this process, and the visible GPUs that nvidia-smi
    lists. ``cores`` replaces the number of cores.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(cores or usable, usable_memory(), _gpus())


def usable_memory() -> float:
    """Return the memory of this machine, or of its container, in bytes; 0 if unknown."""
    said = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else []
    for place in LIMITS:
        with contextlib.suppress(OSError, ValueError):  # a file without a limit contains "max"
            said.append(int(place.read_text()))
    return float(min(said, default=0))


def _gpus() -> tuple[float, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    asked = [program, "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return visible_gpus(said, os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible_gpus(listed: str, visible: str | None) -> tuple[float, ...]:
    """Return the memory in bytes of each GPU that is visible to this process.

    ``listed`` is the output of nvidia-smi, in which each row contains index, UUID and memory in MiB. ``visible`` is the
    value of ``CUDA_VISIBLE_DEVICES``: indices or prefixes of UUIDs; None makes all GPUs visible.
    """
    rows = [[part.strip() for part in line.split(",")] for line in listed.splitlines()]
    gpus = [
        (index, uuid, float(mib) * MIB) for index, uuid, mib in (row for row in rows if len(row) == 3) if mib.isdigit()
    ]
    if visible is None:
        return tuple(memory for _, _, memory in gpus)
    names = [name.strip() for name in visible.split(",") if name.strip()]
    return tuple(m for name in names for index, uuid, m in gpus if name == index or uuid.startswith(name))


def fits(machine: Machine, needs: Resources, running: Sequence[Place], ahead: int = 1) -> str | None:
    """Return the device on which a cell with these ``needs`` can start, or None if the cell must wait.

    The resources of the ``running`` cells are not available. Each core accepts up to ``ahead`` cells. If no cell is
    running, the cell can start even if it needs more than the machine has.
    """
    if not running:
        return "cuda:0" if needs.gpu_memory and machine.gpus else "cpu"
    cores = sum(place.needs.cores for place in running) + needs.cores
    memory = sum(place.needs.memory for place in running) + needs.memory
    if cores > machine.cores * ahead or (machine.memory and memory > machine.memory):
        return None
    if not needs.gpu_memory or not machine.gpus:
        return "cpu"
    free = {f"cuda:{i}": most for i, most in enumerate(machine.gpus)}
    for place in running:
        if place.device in free:
            free[place.device] -= place.needs.gpu_memory
    device = max(free, key=lambda name: free[name])
    return device if free[device] >= needs.gpu_memory else None


def at_once(machine: Machine, needs: Resources) -> int:
    """Return how many cells with these ``needs`` the machine can run in parallel, at least 1."""
    most = machine.cores // max(needs.cores, 1)
    if machine.memory and needs.memory:
        most = min(most, int(machine.memory // needs.memory))
    if needs.gpu_memory and machine.gpus:
        most = min(most, sum(int(memory // needs.gpu_memory) for memory in machine.gpus))
    return max(most, 1)


def devices(machine: Machine, needs: Resources) -> int:
    """Return the number of devices that a cell with these ``needs`` uses.

    A cell that uses a GPU has one device. For any other cell, each core is a device.
    """
    return 1 if needs.gpu_memory and machine.gpus else needs.cores
