"""Laws of trained cells along D, N and C compared with the published ones (amplitudes, Tables 2 to 15)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isoplan.engine.planning.amplitude.anchors import Axis
from isoplan.engine.planning.amplitude.cell_law import CellLaw, data_laws, law_of
from isoplan.engine.planning.amplitude.cells import TrainedCell
from isoplan.engine.planning.amplitude.published import PublishedLaw

PLAIN, LLOCA = "MLP-I, MSE", "LLoCa-Transformer, MSE"
"""Networks of the paper that Isoplan trains; all processes were trained with the first."""
NEAR = 1.5
"""Largest ratio of the fixed sizes of two laws that are compared."""


@dataclass(frozen=True, eq=False)
class Along:
    """Cells of a process against ``axis`` (N or C) at ``D`` points, and their law (None if they are too few)."""

    process: str
    raw: bool
    axis: Axis
    D: float
    x: tuple[float, ...]
    loss: tuple[float, ...]
    law: CellLaw | None


@dataclass(frozen=True, eq=False)
class TrainedLaw:
    """A ``law`` of trained cells against ``axis`` at a fixed size ``held``: N for a law of D, D for one of N or C.

    ``network`` is the paper's name of the network and its training loss. ``raw`` marks raw amplitudes as targets.
    """

    process: str
    raw: bool
    axis: Axis
    held: float
    law: CellLaw
    network: str = PLAIN


def along(axis: Axis, cells: Iterable[TrainedCell]) -> list[Along]:
    """Return the scans of N or C, one per process and D, from ``cells`` that otherwise differ only in seed."""
    grouped: dict[tuple[str, bool, float], list[TrainedCell]] = defaultdict(list)
    for cell in cells:
        grouped[cell.process, cell.target == "raw", cell.D].append(cell)
    found = []
    for (process, raw, D), some in sorted(grouped.items()):
        x, loss = tuple(getattr(cell, axis) for cell in some), tuple(cell.loss for cell in some)
        found.append(Along(process, raw, axis, D, x, loss, law_of(axis, x, loss)))
    return found


def trained_laws(
    cells: Sequence[TrainedCell], sizes: Iterable[TrainedCell] = (), budgets: Iterable[TrainedCell] = ()
) -> tuple[TrainedLaw, ...]:
    """Return the laws of D through ``cells``, as ``data_laws`` finds them, and those of the scans of N and C."""
    found = [
        TrainedLaw(own[0].cell.process, target == "raw", "D", own[0].cell.N, law, _network(own[0].cell))
        for target in ("log", "raw")
        for own, law in data_laws(tuple(cells), target)
    ]
    scans = [*along("N", sizes), *along("C", budgets)]
    return (*found, *(TrainedLaw(s.process, s.raw, s.axis, s.D, s.law) for s in scans if s.law is not None))


def side_by_side(
    published: Sequence[PublishedLaw], ours: Sequence[TrainedLaw]
) -> list[tuple[PublishedLaw | None, TrainedLaw | None]]:
    """Pair each law of ``ours`` with the published law of the same process, axis, target and similar fixed size.

    A law of ours without such a partner is paired with None. All other published laws follow in their order.
    """
    pairs = [(_nearest(published, one), one) for one in ours]
    taken = {id(law) for law, _ in pairs}
    return [*pairs, *((law, None) for law in published if id(law) not in taken)]


def _network(cell: TrainedCell) -> str:
    return LLOCA if "network lloca" in cell.setting else PLAIN


def _nearest(published: Sequence[PublishedLaw], ours: TrainedLaw) -> PublishedLaw | None:
    asked = (ours.process, ours.axis, ours.raw, ours.network)
    own = [p for p in published if (p.process, p.axis, p.raw, p.network) == asked]
    best = min(own, key=lambda p: _apart(p, ours), default=None)
    return best if best is not None and _apart(best, ours) <= math.log(NEAR) else None


def _apart(published: PublishedLaw, ours: TrainedLaw) -> float:
    return abs(math.log(published.held_value / ours.held))
