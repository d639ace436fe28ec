"""Plans of amplitude surrogates, each made from one cheap training run (the anchor) and tested with planned runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.report import Report
from isoplan.app.commands.shared.following import follow
from isoplan.data.amplitudes import best_laws
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.evidence import LIMITED, Anchor
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import of_mse
from isoplan.engine.planning.amplitude.scaling import plan_amplitude
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Sweep, launch
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid

SPACE = Path(__file__).parents[1] / "build" / "amplitudes"
PROCESSES = ("Zg", "Zgg", "ttH")
POINTS = 1_000
"""Number of training points D of the anchors. An anchor is a training run from which plans are made.

At this D, the losses already follow power laws (amplitudes paper, Sec. 5).
"""
SIZES, LADDER = tuple(10_000 * 2**i for i in range(3)), tuple(10_000 * 2**i for i in range(5))
"""Values of N and numbers of iterations that are tried. The anchor is the cheapest pair for which D limits the loss."""
LEAST_RUNGS = 3
"""Number of values in ``LADDER`` that are tried first. More values are tried one at a time, until D limits a loss."""
RATIOS = (3.0, 10.0)
"""Ratios of the anchor's loss to the target loss. One plan is made from the anchor for each ratio."""
SEEDS = (0, 1, 2)
GOAL, MOST = 1.1, 30.0
"""Upper limits of two ratios for a good plan: mean loss / target loss, and planned compute / necessary compute."""


@dataclass(frozen=True, eq=False)
class Held:
    """A tested plan: its target is the loss of ``anchor`` divided by ``ratio``.

    ``losses`` contains the losses of the training runs that follow the plan, one per seed.
    """

    process: str
    ratio: float
    anchor: Anchor
    plan: AmplitudePlan
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean loss of the trained cells divided by the target loss. If it is above 1, the plan missed its target."""
        return float(np.mean(self.losses)) / self.plan.target.mse

    @property
    def overspend(self) -> float:
        """Planned D divided by the necessary D. The ratio of planned to necessary compute has the same value.

        The necessary D is computed from the power law through the anchor and the trained cells.
        """
        grew, fell = _end(self.plan.D.most) / self.anchor.x, self.anchor.loss / float(np.mean(self.losses))
        needed = math.exp(math.log(self.ratio) * math.log(grew) / math.log(fell)) if fell > 1 else math.inf
        return grew / needed


def run() -> Report:
    """Train the anchors, make the plans, train the planned cells, and return the report.

    Cells that are already in ``SPACE`` are not trained again. Raises PlannerError if a process has no
    anchor candidate for which D limits the loss.
    """
    SPACE.mkdir(parents=True, exist_ok=True)
    anchors = {process: _anchor(process) for process in PROCESSES}
    asked = [_planned(process, ratio, *anchors[process]) for process in PROCESSES for ratio in RATIOS]
    sweeps = [_launch(f"{process}, {ratio:g} times below", _cells(process, plan)) for process, ratio, _, plan in asked]
    held = [Held(*one, tuple(_loss(r) for r in cells)) for one, cells in zip(asked, _trained(sweeps), strict=True)]
    return Report(
        "Plans of amplitude surrogates, held against trained cells",
        f"The anchor is the cheapest cell of D = {POINTS:,} whose loss falls by less than {100 * LIMITED:.0f} % when "
        f"either its iterations or N are doubled. The search starts at {LADDER[0]:,} iterations and N = {SIZES[0]:,}. "
        f"`isoplan amplitude` makes plans for targets {RATIOS[0]:g} and {RATIOS[1]:g} times below the loss of the "
        "anchor, and cells with the conservative D, N and C of each plan are trained. All losses are means over "
        f"{len(SEEDS)} seeds. Overspend: D of the plan, divided by the D that the power law through the anchor and "
        "these cells needs for the target; the ratio of the compute has the same value. Goals: a loss of at most "
        f"{GOAL:g} times the target, an overspend below {MOST:g}.",
        ("process", "anchor's N", "C", "loss", "falls by", "target", "exponent", "D", "C", "loss / target",
         "overspend"),
        tuple(_row(one) for one in held),
    )  # fmt: skip


def _launch(name: str, fields: Mapping[str, object]) -> Sweep:
    family = find_family("amplitudes", SPACE)
    entries = {field: list(value) if isinstance(value, tuple) else value for field, value in fields.items()}
    return launch(SPACE, make_grid(family, {**entries, "dimension_points": 0}, f"Plans: {name}"), family)


def _trained(sweeps: Iterable[Sweep]) -> list[list[Record]]:
    """Wait until the cells of each sweep are trained and return their records.

    Raises PlannerError if a cell is not done.
    """
    found = []
    for sweep in sweeps:
        follow(SPACE, sweep)
        records = Queue(SPACE).scan()
        if lost := [name for name in sweep.cells if records[name].state != "done"]:
            raise PlannerError(f"{len(lost)} cells of {sweep.name} are not done: see `isoplan cells`.")
        found.append([records[name] for name in sweep.cells])
    return found


def _anchor(process: str) -> tuple[Anchor, int]:
    """Return the cheapest anchor of a process and the number of final-state particles n_f.

    D limits the loss of the anchor (see ``cheapest``). Raises PlannerError if there is no such cell.
    """
    for rungs in range(LEAST_RUNGS, len(LADDER) + 1):
        ladder = {"process": process, "points": POINTS, "seed": SEEDS}
        whole = ladder | {"parameters": SIZES, "iterations": LADDER[: rungs - 1]}
        last = ladder | {"parameters": SIZES[:-1], "iterations": LADDER[rungs - 1]}
        own: dict[tuple[int, float], list[dict[str, Any]]] = defaultdict(list)
        for records in _trained([_launch(f"Anchors, {process}", whole), _launch(f"Anchors, {process}, last", last)]):
            for record in records:
                own[record.cell["iterations"], record.cell["parameters"]].append(_metrics(record))
        n_f = (round(own[LADDER[0], SIZES[0]][0]["d"]) + 4) // 3
        means = {key: some[0] | {"loss": mean(one["loss"] for one in some)} for key, some in own.items()}
        if found := cheapest(means):
            return found, n_f
    raise PlannerError(f"No cell of {process} is limited by D: raise the iterations or N.")


def _planned(process: str, ratio: float, anchor: Anchor, n_f: int) -> tuple[str, float, Anchor, AmplitudePlan]:
    return process, ratio, anchor, plan_amplitude(n_f, of_mse(anchor.loss / ratio), [anchor], published=best_laws())


def cheapest(cells: Mapping[tuple[int, float], Mapping[str, float]]) -> Anchor | None:
    """Return the cheapest cell for which D limits the loss, as an anchor; None if there is no such cell.

    ``cells`` maps (iterations, N) to the metrics of a cell. D limits the loss of a cell if this loss decreases by less
    than ``LIMITED`` (10 %) when the iterations or N are doubled.
    """
    rungs = sorted({iterations for iterations, _ in cells})[:-1]
    for iterations, N in sorted(product(rungs, SIZES[:-1]), key=prod):
        one = cells[iterations, N]
        others = (cells[2 * iterations, N], cells[iterations, 2 * N])
        doubled = max(0.0, *(1 - other["loss"] / one["loss"] for other in others))
        if doubled < LIMITED:
            return Anchor("D", one["D"], one["loss"], N=one["N"], epochs=one["seen"] / one["D"],
                          flops_per_sample=one["C"] / one["seen"], doubled=doubled)  # fmt: skip
    return None


def _cells(process: str, plan: AmplitudePlan) -> dict[str, object]:
    """Return the grid fields of the cells to train for a plan, with N, D and C at the upper ends of their intervals."""
    return {
        "process": process, "points": round(_end(plan.D.most)), "parameters": _end(plan.N.most),
        "budget": _end(plan.C.most), "seed": SEEDS,
    }  # fmt: skip


def _end(x: float | None) -> float:
    if x is None:
        raise PlannerError("The plan does not determine N, D and C: use an anchor with N and epochs.")
    return x


def _metrics(record: Record) -> dict[str, Any]:
    return dict((record.result or {})["metrics"])


def _loss(record: Record) -> float:
    return float(_metrics(record)["loss"])


def _row(one: Held) -> tuple[str, ...]:
    anchor, plan = one.anchor, one.plan
    used = float(anchor.flops_per_sample or 0.0) * anchor.x * float(anchor.epochs or 0.0)
    return (
        one.process,
        f"{float(anchor.N or 0.0):,.0f}",
        f"{used:.2g}",
        f"{anchor.loss:.2e}",
        f"{100 * float(anchor.doubled or 0.0):.1f} %",
        f"{plan.target.mse:.2e} (1/{one.ratio:g})",
        f"{plan.exponent.value:.3g}",
        f"{_end(plan.D.most):,.0f}",
        f"{_end(plan.C.most):.2g}",
        f"{one.mean:.2f}",
        f"{one.overspend:.1f}",
    )
