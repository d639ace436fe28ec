"""Decisions of an autopilot: which cells (training runs) are trained next and why, or why it stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from isoplan.app.autopilot.specification import Specification
from isoplan.engine.design.widths import Width
from isoplan.engine.planning.answer.format import aligned
from isoplan.engine.planning.next_cells.text import between, percent
from isoplan.engine.quantities import count, duration, power10

Kind = Literal["start", "approach", "round", "stop", "allowed"]
"""Kind of a decision. start: the first cells, spread over N and D. approach: cells that bring the runs nearer to the
question. round: the advised cells. stop: the end. allowed: a user has allowed the cells for which the previous
decision, a stop, has asked. No other kind of decision follows a stop."""
Reason = Literal["", "known", "pays", "cells", "cap", "failed", "user", "ranges"]
"""Reason of a stop. known: the answer is known well enough. pays: more cells do not pay. cells: no affordable cell is
left. cap: the cap is reached. failed: no cell of a round has a loss. user: a user has stopped it. ranges: a user must
decide whether cells beyond the ranges of the grid may be trained."""
NAMES: dict[str, str] = {
    "start": "start",
    "approach": "toward the answer",
    "round": "round",
    "allowed": "allowed by you",
}
STOPS: dict[Reason, str] = {
    "known": "known well enough",
    "pays": "does not pay",
    "cells": "no cell left",
    "cap": "cap reached",
    "failed": "cells failed",
    "user": "stopped by you",
    "ranges": "asks to leave the ranges",
}


class Promise(BaseModel):
    """An expected half width of the 68 % interval, in logarithms, and its range over simulated outcomes.

    A value is None if it is not bounded or not simulated.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    expected: float | None = None
    low: float | None = None
    high: float | None = None


class Decision(BaseModel):
    """One decision, with everything that it used and expects.

    - ``table`` are the losses of the finished cells by name, in the order of the grid.
    - ``width`` is the half width of the 68 % interval before the decision, in logarithms; None if the runs do not
      support an answer yet, or if the width has no bound. ``promised`` is the width that the previous decision
      expected.
    - ``cells`` are the names of the cells to train, in the order of training, and ``flops`` is their compute.
    - ``promise`` is the expected width after their training.
    - ``hours`` and ``spent`` are the device hours and the FLOPs of the cells of earlier decisions.
    - ``ranges`` are the ranges of N and D that it asks for, if the reason is ``ranges``.
    - ``sentence`` states the decision, and ``answer`` the present answer with its interval.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    number: int
    kind: Kind
    reason: Reason = ""
    table: dict[str, float] = {}
    width: float | None = None
    promised: Promise | None = None
    cells: tuple[str, ...] = ()
    flops: float = 0.0
    promise: Promise | None = None
    hours: float = 0.0
    spent: float = 0.0
    ranges: dict[str, tuple[float, float]] = {}
    sentence: str = ""
    answer: str = ""


def without_stop(decisions: Sequence[Decision]) -> tuple[Decision, ...]:
    """Return the decisions without a final stop, from which an autopilot continues."""
    return tuple(decisions[:-1] if decisions and decisions[-1].kind == "stop" else decisions)


def allow(asks: Decision) -> Decision:
    """Return the decision of a user who allows the cells for which ``asks`` asks."""
    text = f"You allowed cells with {sizes_text(asks.ranges)}."
    own = {"number": asks.number + 1, "kind": "allowed", "reason": "", "ranges": {}, "sentence": text}
    return asks.model_copy(update=own)


def sizes_text(ranges: Mapping[str, tuple[float, float]]) -> str:
    """Return the upper ends of the ranges of N and D as text, such as "N up to 1.2 M and D up to 30 M"."""
    return " and ".join(f"{axis} up to {count(high, 3)}" for axis, (_, high) in ranges.items())


def as_table(decisions: Sequence[Decision]) -> str:
    """Return the decisions as a table for a terminal."""
    head = (
        "",
        "Decision",
        "Runs",
        "68 % interval",
        "Expected before",
        "Range",
        "Cells",
        "Compute so far",
        "Time so far",
    )
    return "\n".join(aligned([head, *map(_row, decisions)]))


def _row(one: Decision) -> tuple[str, ...]:
    what = f"stop: {STOPS[one.reason]}" if one.kind == "stop" else NAMES[one.kind]
    before = one.promised
    expected = percent(before.expected) if before is not None and before.expected is not None else "-"
    ranged = ""
    if before is not None and before.expected is not None and before.low is not None and before.high is not None:
        ranged = between(Width(before.expected, before.low, before.high))
    return (
        str(one.number),
        what,
        str(len(one.table)),
        "-" if one.width is None else percent(one.width),
        expected,
        ranged or "-",
        str(len(one.cells)) if one.cells else "-",
        power10(one.spent) if one.spent else "-",
        duration(3600 * one.hours) if one.hours else "-",
    )


def as_text(spec: Specification, decisions: Sequence[Decision]) -> str:
    """Return the table of the decisions and the answer as text."""
    if not decisions:
        return f"The autopilot {spec.key[:8]} has made no decision yet."
    last = decisions[-1]
    closing = [last.sentence] if last.kind == "stop" else []
    return "\n\n".join([as_table(decisions), *closing, *filter(None, [last.answer])])


def to_json(spec: Specification, decisions: Sequence[Decision]) -> dict[str, object]:
    """Return the JSON object that ``isoplan autopilot --json`` prints."""
    last = decisions[-1] if decisions else None
    return {
        "schema": 1,
        "autopilot": spec.key,
        "specification": spec.model_dump(mode="json"),
        "decisions": [one.model_dump(mode="json") for one in decisions],
        "stopped": last.reason if last is not None else "",
        "width": None if last is None else last.width,
        "sentence": "" if last is None else last.answer or last.sentence,
    }
