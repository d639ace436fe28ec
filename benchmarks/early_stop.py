"""Early stopping on the bundled jets: the compute that it saves, and the change of the answer.

The cells of the grid are trained one after the other, the cheapest first. At a quarter, half, and three quarters of its
training, a cell is stopped if the rule of ``isoplan train --stop-early`` says so. Stopped cells are in no fit.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.curves import POSITIONS, SOURCES, read_cells
from benchmarks.report import Report
from isoplan.app.autopilot.deciding import fit_cells
from isoplan.app.autopilot.specification import GridCells, Seen, Specification, Task
from isoplan.app.early_stop import choose_stops, fit_answer
from isoplan.engine.curves.curve import TrainingCurve
from isoplan.engine.curves.forecast import predict_end
from isoplan.engine.design.candidates import listed_candidates
from isoplan.engine.planning.next_cells.answer import present

GRID = Path(__file__).parents[1] / "data" / "grids" / "jets_one_pass.csv"
SHARES = (0.05, 0.2)
BEYOND = (10.0,)
"""Budgets of the question, as multiples of the compute of the largest cell."""


def run() -> Report:
    """Replay the grid for each budget and each share."""
    rows = []
    for times in BEYOND:
        task, curves, losses = _grid(times)
        whole = _answer(task, losses)
        for share in SHARES:
            kept, saved, stopped = _replay(task, curves, losses, share)
            value, width = _answer(task, kept)
            moved = (value - whole[0]) / whole[1]
            rows.append(
                (f"{times:g}", f"{share:.0%}", f"{stopped} of {len(losses)}", f"{saved:.1%}", f"{moved:+.0%}",
                 f"{width / whole[1]:.2f}")
            )  # fmt: skip
    return Report(
        "Early stopping of cells",
        "Jets, one pass, trained in the order of compute. Budget of the question in units of the largest cell; compute "
        "that is saved; move of the answer in units of the half width of its 68 % interval with all cells; and the "
        "width of the interval compared with all cells.",
        ("budget", "--stop-early", "stopped", "compute saved", "move", "width"),
        tuple(rows),
    )


def _grid(times: float) -> tuple[Task, dict[str, TrainingCurve], dict[str, float]]:
    """Return the cells in the order of compute, with their curves and final losses by name."""
    table = pd.read_csv(GRID, dtype={"run": str})
    order = np.argsort(table["C"].to_numpy(), kind="stable")
    trained = read_cells(SOURCES[0])
    table, curves = table.iloc[order], [trained[i].curve for i in order]
    names = tuple(table["run"])
    cells = listed_candidates(*(table[role].to_numpy(float) for role in ("N", "D", "C")))
    budget = 6 * float((table["N"] * table["D"]).max()) * times
    spec = Specification(family="jets", cells=names, budget=budget)
    task = Task(spec, GridCells(names, (0,) * len(names), cells))
    return task, dict(zip(names, curves, strict=True)), dict(zip(names, table["loss"].astype(float), strict=True))


def _answer(task: Task, losses: dict[str, float]) -> tuple[float, float]:
    """Return ln(answer) and half the width of its 68 % interval in logarithms."""
    fitted = fit_cells(task, Seen(losses))
    now = present(fitted, task.spec.question)
    return float(now.estimands[0].logs(fitted.values)), now.widths[0]


def _replay(
    task: Task, curves: dict[str, TrainingCurve], losses: dict[str, float], share: float
) -> tuple[dict[str, float], float, int]:
    """Return the losses of the finished cells, the saved fraction of the compute, and the number of stopped cells."""
    finished, saved = dict[str, float](), 0.0
    cost = dict(zip(task.cells.names, task.cells.candidates.compute, strict=True))
    for name, curve in curves.items():
        fitted, others = fit_answer(task, Seen(finished)), [curves[other] for other in finished]
        ends = ((x, predict_end(curve.until(x), others)) for x in POSITIONS)
        at = next((x for x, end in ends if end and choose_stops(task, fitted, {name: end}, share)), None)
        if at is None:
            finished[name] = losses[name]
        else:
            saved += (1 - at) * cost[name]
    return finished, saved / math.fsum(cost.values()), len(losses) - len(finished)
