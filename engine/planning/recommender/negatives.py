"""K of stage 2: the optimum of its sweep, capped by the memory of the devices (behavioural, Sec. 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from isoplan.engine.costs.memory import Candidates, training_memory
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.optimum_location import Place
from isoplan.engine.hardware import Device
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.recommender.choice import Choice
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.settings import cost_otherwise, missing, said_off
from isoplan.engine.planning.recommender.sweep import Optimum, at_budget, name_of, off_budgets
from isoplan.engine.quantities import count

Binds = Literal["FLOPs", "memory", "sweep", "unknown"]
CHUNK = 4096
"""Default number of candidates that are scored at a time."""


@dataclass(frozen=True)
class Stage2:
    """Training setup of stage 2: ``devices`` of one kind, sequences of ``length`` events, embeddings of ``width`` h.

    Logits are stored in ``precision``, for ``chunk`` candidates at a time; None scores all candidates at once. Raises
    PlannerError if a field is not valid.
    """

    device: Device
    width: int
    devices: int = 1
    length: int = 256
    precision: str = "bf16"
    chunk: int | None = CHUNK

    def candidates(self, B: float) -> Candidates:
        """Return the candidates on one device for a batch of ``B`` sequences, divided evenly."""
        if not self.devices >= 1:
            raise PlannerError(f"The number of devices, {self.devices:g}, is too small. Give at least 1.")
        each = max(math.ceil(B / self.devices), 1)
        return Candidates(each, self.length, self.width, self.precision, max(round(B), each), self.chunk)

    def largest(self, B: float, trained: float) -> int:
        """Return the largest number of extra negatives in addition to ``trained`` parameters under Adam on all devices.

        The training state is sharded. Raises PlannerError if the memory of a device is smaller than the model, one
        candidate row, or the candidates of the batch.
        """
        room = self.device.memory - float(training_memory(trained, self.devices))
        if room <= 0:
            raise PlannerError(
                f"The training state of {count(trained)} parameters fills the memory of {self.devices} "
                f"{self.device.name}: use more devices."
            )
        return self.candidates(B).largest(room)


def negatives(
    evidence: Evidence, metric: str, C: float, cap: int | None, others: Sequence[float]
) -> tuple[Choice, Binds]:
    """Return K for ``metric`` from the sweep at the budget nearest to ``C``, at most ``cap``, and what limits it.

    FLOPs limit K if the sweep brackets an optimum below the cap: more negatives leave too few training steps (eq. 6).
    Memory limits K if the optimum lies above the cap, or if it lies beyond the sweep and the largest K of the sweep is
    above the cap. If the runs still improve at the largest K and memory allows it, this K is the result and the sweep
    limits it.
    """
    quoted = evidence.quoted.get("K", "")
    at = at_budget(evidence.negatives, metric, C)
    if at is None:
        why = missing(evidence, "K", metric, "a sweep of the extra negatives")
        return Choice("K", Quantity(None, note=why), None, why, quoted=quoted), "unknown"
    inside = [one.x.value for one in evidence.negatives if one.metric == metric and one.inside]
    known = [x for x in inside if x is not None]
    band = (min(known), max(known)) if known else None
    value, place, note, binds = _capped(at, cap)
    far = off_budgets([one for one in evidence.negatives if one.metric == metric], C)
    if far and value.value is not None:
        value = replace(value, beyond=max(value.beyond, far))
    remarks = (at.remark,) if at.remark and binds == "FLOPs" else ()
    costs = cost_otherwise(at, others)
    return Choice("K", value, place, note + said_off(far), band, quoted, costs, remarks=remarks), binds


def _capped(at: Optimum, cap: int | None) -> tuple[Quantity, Place, str, Binds]:
    """Return the value, its place, the reason, and the active limit."""
    where = name_of(at)
    if at.inside and at.x.value is not None:
        star = Quantity(at.x.value, at.x.ci68, at.x.ci95, "negatives", at.x.beyond, at.x.note)
        if cap is None or at.x.value <= cap:
            return star, at.place, f"optimum of {where}", "FLOPs"
        note = f"optimum {count(at.x.value)} of {where}, capped by memory"
        return Quantity(float(cap), unit="negatives", note=note), at.place, note, "memory"
    if at.place == "outside left":
        note = f"outside {where}: fewer than its least {count(at.low)} may do better, so sweep smaller K"
        return Quantity(None, unit="negatives", note=note), at.place, note, "unknown"
    if at.place != "outside right":
        note = at.why or f"not located by {where}"
        return Quantity(None, unit="negatives", note=note), at.place, note, "unknown"
    if cap is None:
        note = f"outside {where}: at least its largest {count(at.high)}, as far as the devices hold it"
        return Quantity(None, unit="negatives", note=note), at.place, note, "unknown"
    if cap < at.high:
        note = f"outside {where}, which ends at {count(at.high)}: as many as the memory holds"
        return Quantity(float(cap), unit="negatives", note=note), at.place, note, "memory"
    note = f"at least: the runs still improve at the largest K of {where}; memory holds {count(cap)}"
    return Quantity(at.high, unit="negatives", note=note), at.place, note, "sweep"
