"""What events take in memory, and whether they fit."""

from __future__ import annotations

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import usable_memory

COPIES = 3
"""Of all numbers that reading, checking and making events hold at once, counted generously."""
SHARE = 0.8
"""Of the machine's memory, which events may take."""


def bytes_of(n: int, particles: int) -> int:
    """Of ``n`` events: double precision for momenta, amplitude and weight."""
    return 8 * n * (4 * particles + 2)


def no_memory(what: str) -> PlannerError:
    """That ``what`` took more memory than there was left, though ``need_memory`` let it pass."""
    return PlannerError(f"{what[0].upper()}{what[1:]} take more memory than is free: give fewer events, or free some.")


def need_memory(n: int, particles: int, what: str) -> None:
    """Raises PlannerError where ``what``, ``n`` events, takes more memory than there is; says how many would fit."""
    usable = usable_memory() * SHARE
    need = COPIES * bytes_of(n, particles)
    if usable and need > usable:
        most = int(usable // (COPIES * bytes_of(1, particles)))
        raise PlannerError(
            f"{what[0].upper()}{what[1:]} take {need / 1e9:.1f} GB of memory and {usable / 1e9:.1f} GB may be used: "
            f"{most:,} events would fit."
        )
