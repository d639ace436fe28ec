"""What finished cells of the amplitudes family measured, as the figures take it: pulls and intrinsic dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from isoplan.app.figures.amplitudes.intrinsic import Estimate, Measured, Pulls
from isoplan.app.views.training.lines import label, varied
from isoplan.app.views.widgets.parts import number
from isoplan.trainers.amplitudes.source import SIMULATED, Source
from isoplan.trainers.amplitudes.surrogate.pulls import FILE, read_pulls
from isoplan.trainers.amplitudes.surrogate.standard import LOG, RAW
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import Family

CALIBRATION = ("pull_mean", "pull_width", "bulk_mean", "bulk_width", "within_1")
WITHIN = 68.3
"""Per cent within one sigma where sigma is right."""


def with_pulls(queue: Queue, records: Sequence[Record]) -> list[Record]:
    """Those of the finished ``records`` that learned an uncertainty and kept their pulls, the largest D first."""
    found = [one for one in records if calibration(one) is not None and pulls(queue, one) is not None]
    return sorted(found, key=lambda one: -_metrics(one).get("D", 0.0))


def pulls(queue: Queue, record: Record) -> Pulls | None:
    """The histogram of a finished cell; None where there is none, or none that can be drawn."""
    target = RAW if record.cell.get("target") == RAW else LOG
    return _read(queue.folder(record.name) / FILE, record.created, record.number, target)


@lru_cache(maxsize=1000)
def _read(path: Path, created: str, number: int, target: str) -> Pulls | None:
    """That of an attempt of a cell that learned ``target``, read once."""
    found = read_pulls(path)
    return Pulls(*found, target=target) if found else None


def calibration(record: Record) -> Mapping[str, float] | None:
    """What a finished cell measured of its pulls; None where it learned no uncertainty."""
    found = _metrics(record)
    return {name: found[name] for name in CALIBRATION} if all(name in found for name in CALIBRATION) else None


def calibration_text(found: Mapping[str, float]) -> str:
    """Mean and width of the pulls, of their bulk, and the share within one sigma, in words."""
    mean, width, middle, half = (_signed(found[name]) for name in CALIBRATION[:4])
    return (
        f"Pulls have mean {mean} and width {width}, their bulk {middle} and {half} (median, half of the central "
        f"{WITHIN:g} %). {100 * found['within_1']:.1f} % of the test points lie within 1 sigma, of a unit Gaussian "
        f"{WITHIN:g} %."
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if abs(value) < 100 else number(value)


def dimensions(family: Family[Any], records: Sequence[Record]) -> list[Measured]:
    """The intrinsic dimensions of the finished ``records`` that have them."""
    fields = [field for field in varied(family, records) if field not in ("data", "process", "sqrt_s")]
    return [found for one in records if (found := _measured(one, label(one, fields))) is not None]


def _measured(record: Record, text: str) -> Measured | None:
    found = _metrics(record)
    layer, N, D = _estimate(found, "dimension"), found.get("N", math.nan), found.get("D", math.nan)
    if layer is None or not (N > 0 and D > 0):
        return None
    return Measured(title(source(record)), text, N, D, layer, _estimate(found, "dimension_inputs"), found.get("d"))


def _estimate(found: Mapping[str, float], name: str) -> Estimate | None:
    return Estimate(found[name], found.get(f"{name}_spread", 0.0)) if name in found else None


def source(record: Record) -> Source:
    """Where the events of a cell came from."""
    cell = record.cell
    return Source(str(cell.get("data", SIMULATED)), str(cell.get("process", "")), float(cell.get("sqrt_s") or 0.0))


def title(found: Source) -> str:
    """``Zgg``, ``Zgg at 1,000 GeV``, ``toy Zgg``, or the name of a file."""
    if not found.made:
        return found.data
    kind = found.process if found.data == SIMULATED else f"{found.data} {found.process}"
    return f"{kind} at {found.sqrt_s:,g} GeV" if found.sqrt_s else kind


def _metrics(record: Record) -> dict[str, float]:
    """What a cell measured, as far as it is finite numbers."""
    raw = dict((record.result or {}).get("metrics") or {})
    return {name: float(x) for name, x in raw.items() if isinstance(x, int | float) and math.isfinite(x)}
