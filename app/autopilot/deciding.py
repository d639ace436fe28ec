"""The decision of an autopilot, a pure function of the specification, the finished cells and the earlier decisions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from isoplan.app.autopilot.decisions import Decision, Kind, Promise, Reason, sizes_text
from isoplan.app.autopilot.specification import Seen, Task
from isoplan.app.autopilot.state import State
from isoplan.engine.arrays import finite
from isoplan.engine.design.advice import LADDER
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.spread import FREEDOM, spread
from isoplan.engine.design.widths import Width
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.fitting.diagnostics.single_runs import freedom
from isoplan.engine.planning.next_cells.answer import AXES, NextCells, Present, next_cells, present
from isoplan.engine.planning.next_cells.text import between, little, percent
from isoplan.engine.planning.next_cells.typed import TypedSpend
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.quantities import duration, power10
from isoplan.engine.schema import Roles, Runs

REFITS = 500
"""Number of refits of each fit."""
AHEAD = 2
"""Number of rounds that are planned together, cheapest cells first. Only the first of them is trained."""
TRIES = 5
"""Maximum number of successive rounds without an answer."""
NEARER = (2.9, 2.0, 1.0, 0.0)
"""Decades above the compute of the largest run. If the runs do not support the question yet, the budgets at these
distances are tried in this order."""


def decide(task: Task, seen: Seen, earlier: Sequence[Decision]) -> Decision:
    """Return the next decision: the cells to train, or a stop with its reason.

    ``earlier`` are the decisions so far, without a final stop. Equal arguments give equal decisions.
    """
    state = State(task, seen, tuple(earlier))
    if state.last is not None and state.failed:
        why = f"No cell of round {state.last.number} has a loss. Read the reasons in the list of cells."
        return _stop(state, None, "failed", why)
    if state.missing:
        return _ended(state, None) or _start(state)
    try:
        fitted = fit_cells(task, seen)
    except PlannerError as error:
        return _ended(state, None) or _spread_more(state, str(error))
    try:
        now = present(fitted, task.spec.question)
    except PlannerError as error:
        return _ended(state, None) or _approach(state, fitted, str(error))
    small = now.widths[0] <= task.spec.enough and freedom(fitted) >= FREEDOM
    if small and _confirmed(state):
        return _stop(state, now, "known", f"This is at most ± {100 * task.spec.until:g} %.")
    made = _ended(state, now) or _round(state, fitted, now, small)
    return made if made.kind != "stop" else _ask(state, fitted, now, made) or made


def stopped(task: Task, seen: Seen, earlier: Sequence[Decision]) -> Decision:
    """Return a stop that a user has ordered, with the present answer if there is one."""
    state = State(task, seen, tuple(earlier))
    try:
        now = None if state.missing else present(fit_cells(task, seen), task.spec.question)
    except PlannerError:
        now = None
    return _stop(state, now, "user", "You stopped it.")


def fit_cells(task: Task, seen: Seen) -> Fit:
    """Fit the law to the finished cells. Raises PlannerError if they do not determine the law."""
    rows = task.cells.rows(seen.losses)
    at = task.cells.candidates.take(rows)
    loss = np.array([seen.losses[task.cells.names[row]] for row in rows], float)
    values = {"N": at.columns["N"], "D": at.columns["D"], "C": at.compute, "loss": loss}
    labels = {"seed": np.array([str(task.cells.seeds[row]) for row in rows], np.str_)}
    digest = hashlib.sha256(
        repr([(task.cells.names[row], seen.losses[task.cells.names[row]]) for row in rows]).encode()
    )
    roles = Roles(N="N", D="D", C="C", loss="loss", seed="seed", compute=task.cells.rule)
    runs = Runs(np.arange(len(rows)), values, roles, labels, f"cells of {task.spec.family}", digest.hexdigest())
    return fit(FitSpec(law=task.spec.law, bootstrap=REFITS, seed=task.spec.seed), runs, suggested=True)


def _confirmed(state: State) -> bool:
    """Return whether the interval was already small before the last round, or was expected to be small after it.

    Lucky residuals can make one interval too small, but rarely two in succession.
    """
    last, enough = state.last, state.task.spec.enough
    if last is None:
        return False
    twice = last.width is not None and last.width <= enough
    expected = last.promise.expected if last.promise is not None and last.kind == "round" else None
    return twice or (expected is not None and expected <= enough)


def _ended(state: State, now: Present | None) -> Decision | None:
    """Return a stop if the cap is reached or if no cell can be trained; otherwise None."""
    if state.paused or state.left <= 0:
        return _stop(state, now, "cap", "The cap is reached. Raise it to continue.")
    if not state.free:
        return _stop(state, now, "cells", "The cap allows no further cell of the grid."
                     if math.isfinite(state.left) else "All cells of the grid have ended.")  # fmt: skip
    return None


def _stop(state: State, now: Present | None, reason: Reason, why: str) -> Decision:
    if now is None:
        return state.decision(kind="stop", reason=reason, sentence=f"Stop. {why}")
    text = f"Stop: {_interval(state, now.widths[0])}. {why}"
    return state.decision(
        kind="stop", reason=reason, sentence=text, width=finite(now.widths[0]), answer=now.plan.sentence
    )


def _start(state: State) -> Decision:
    need, have = state.task.spec.fewest, len(state.known)
    rows = spread(state.task.cells.candidates, state.known, state.free, state.missing, state.left)
    if have < need:
        why = f"because the law {state.task.spec.law} needs {need} finished cells and there are {have}"
    else:
        why = "because the finished cells have only one value of N or D"
    return _spread(state, rows, "start", why)


def _spread_more(state: State, why: str) -> Decision:
    """Return further cells, spread over N and D, because the finished cells give no answer.

    After ``TRIES`` such decisions without an answer, return a stop.
    """
    tries = 0
    for one in reversed(state.earlier):
        if one.kind != "approach":
            break
        tries += 1
    if tries >= TRIES:
        return _stop(state, None, "pays", f"After {tries} more rounds there is still no answer. {why}")
    rows = spread(state.task.cells.candidates, state.known, state.free, state.task.max_cells, state.left)
    return _spread(state, rows, "approach", "because the finished cells give no answer yet")


def _spread(state: State, rows: Sequence[int], kind: Kind, why: str) -> Decision:
    text = f"Train {_cells(state, rows)}, spread over N and D, {why}."
    return state.training(rows, kind=kind, sentence=text)


def _approach(state: State, fitted: Fit, why: str) -> Decision:
    """Return cells that narrow the interval of the loss at a budget nearer to the runs than the question.

    If the runs do not support such a budget either, the cells are spread over N and D.
    """
    spec, largest = state.task.spec, float(np.max(fitted.data.ranges["C"][1]))
    for budget in (largest * 10**decades for decades in NEARER):
        if spec.budget is not None and budget >= spec.budget:
            continue
        try:
            found = _advice(state, fitted, Question("budget", budget), state.spend, state.offered)
        except PlannerError:
            continue
        if not found.advice.pays:
            break
        rows, _ = _first(found)
        text = (
            f"The finished cells do not support {spec.quantity} yet. Train {_cells(state, rows)} that narrow the "
            f"interval of the loss at {power10(budget)} FLOPs."
        )
        return state.training(rows, kind="approach", sentence=text)
    return _spread_more(state, why)


def _round(state: State, fitted: Fit, now: Present, small: bool) -> Decision:
    """Return the next round of advised cells, or a stop if it does not pay.

    The round is planned for the smallest spend that is expected to reach the wanted interval. If no spend is expected
    to reach it, the round is planned for all FLOPs that are left. If the interval is ``small`` already, the round
    checks it, so the round is trained even if it does not pay.
    """
    task = state.task
    try:
        found = _advice(state, fitted, task.spec.question, state.spend, state.offered)
        reaching = [rung for rung in found.advice.ladder
                    if rung.cost <= state.spend and rung.widths[0].expected <= task.spec.enough]  # fmt: skip
        if reaching:
            spend = min(min(reaching, key=lambda rung: (rung.cost, rung.spend)).spend, state.spend)
            found = _advice(state, fitted, task.spec.question, spend, state.offered)
    except PlannerError as error:
        return _stop(state, now, "pays", str(error))
    if not (small or reaching or found.advice.pays):
        return _stop(state, now, "pays", f"More cells would narrow this interval {little(found.advice.narrowing)}.")
    rows, then = _first(found)
    shown = _interval(state, now.widths[0])
    text = f"{shown[0].upper()}{shown[1:]}. Train {_cells(state, rows)}"
    text += " to check this." if small else f": {percent(then.expected)} is then expected{_range(then)}."
    promise = Promise(expected=finite(then.expected), low=finite(then.low), high=finite(then.high))
    return state.training(
        rows, kind="round", sentence=text, width=finite(now.widths[0]), promise=promise, answer=now.plan.sentence
    )


def _ask(state: State, fitted: Fit, now: Present, stop: Decision) -> Decision | None:
    """Return the question whether cells beyond the grid may be trained, in place of ``stop``.

    The result is None if the family has no such cells, or if they are not expected to narrow the interval enough. The
    cells cost at most what the cap leaves, and at most the compute of the target run times the largest fraction in
    ``LADDER``.
    """
    beyond, whole = state.task.beyond, now.plan.allocation["C"].value
    if beyond is None or whole is None or stop.reason not in ("pays", "cells"):
        return None
    spend = min(state.left, LADDER[-1] * whole)
    try:
        found = _advice(
            state, fitted, state.task.spec.question, spend, beyond.take(np.flatnonzero(beyond.cost <= spend))
        )
    except PlannerError:
        return None
    if not found.advice.pays:
        return None
    chosen, then, inside = found.advice.candidates.take(found.advice.cells), found.advice.after[-1][0], state.task.cells
    ranges = {
        axis: (float(inside.candidates.columns[axis].min()), float(max(inside.candidates.columns[axis].max(), x.max())))
        for axis, x in ((axis, chosen.columns[axis]) for axis in AXES)
    }
    text = (
        f"{stop.sentence} {len(chosen)} larger cells for {power10(found.advice.cost)} FLOPs, with "
        f"{sizes_text(ranges)}, are expected to give {percent(then.expected)}{_range(then)}. "
        "May the autopilot leave the ranges of the grid?"
    )
    return stop.model_copy(update={"reason": "ranges", "sentence": text, "ranges": ranges})


def _advice(state: State, fitted: Fit, question: Question, spend: float, offered: Candidates) -> NextCells:
    """Return the advice on ``AHEAD`` rounds of ``offered`` cells that together cost at most ``spend``."""
    most = 2 * state.task.max_cells  # the first round has half of the cells
    return next_cells(fitted, question, TypedSpend(flops=spend), cells=most, rounds=AHEAD, candidates=offered)


def _first(found: NextCells) -> tuple[list[int], Width]:
    """Return the rows of the cells of the first planned round, and the width that is expected after it."""
    return list(found.rows[: len(found.advice.rounds[0])]), found.advice.after[0][0]


def _interval(state: State, width: float) -> str:
    shown = percent(width)
    return f"{state.task.spec.quantity} is {'known to ' if math.isfinite(width) else ''}{shown}"


def _range(width: Width) -> str:
    text = between(width)
    return f" ({text})" if text else ""


def _cells(state: State, rows: Sequence[int]) -> str:
    """Return the number and the compute of the cells and, if a cap is set, their expected device time, as text."""
    flops = float(state.task.cells.candidates.cost[list(rows)].sum())
    text = f"{len(rows)} cell{'s' * (len(rows) != 1)} for {power10(flops)} FLOPs"
    if state.task.cap is not None and math.isfinite(state.left) and state.left > 0:
        hours = flops * (state.task.cap - state.spent[0]) / state.left
        text += f" (about {duration(3600 * hours)} of device time)"
    return text
