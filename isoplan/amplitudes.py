"""Size, data and compute of an amplitude surrogate for a required precision, before it is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isoplan.engine.errors import PlannerError
from isoplan.options import Amount, as_text
from isoplan.tables import as_source

if TYPE_CHECKING:
    from isoplan.engine.planning.amplitude.cells import TrainedCell
    from isoplan.engine.planning.amplitude.evidence import Anchor
    from isoplan.engine.planning.questions.answer import Answer
    from isoplan.tables import Table


def amplitude(
    particles: int,
    *,
    target_mse: Amount | None = None,
    target_error: Amount | None = None,
    error: str = "rms",
    sigma: Amount | None = None,
    anchors: Sequence[Anchor | Mapping[str, Amount]] = (),
    process: str = "",
    axis: str = "",
    held: str = "",
    network: str = "",
    trained: str = "",
    cells: Sequence[Table] = (),
    floor: Amount = 0,
    fixed_energy: bool = False,
) -> Answer:
    """Plan the number of points, the size and the compute of an amplitude surrogate.

    Parameters
    ----------
    particles : int
        Final-state particles n_f.
    target_mse, target_error, error : number, number, str
        The MSE of the standardised log amplitude, or a relative error such as "0.1%" and its kind: "rms", "median" or
        "99%" (of the points).
    sigma : number
        The standard deviation of log A over the points; required for an RMS error.
    anchors : several
        Runs with the axis that limits them first: {"D": 1e4, "loss": 2e-3, "N": 1e5, "doubled": 0.03}.
    process, axis, held, network : str
        A published law instead of anchors, as in "Zgg", "D", "N = 1e6".
    trained, cells : str, several tables
        A process whose trained cells give the law, and further tables of cells.
    floor, fixed_energy : number, bool
        The MSE of the noise in the amplitudes; whether all events have one collision energy.

    Raises
    ------
    PlannerError
        An option is wrong, or the evidence does not determine the law.
    """
    from isoplan.data import amplitudes
    from isoplan.engine.planning.amplitude.inputs import Sources, read_plan
    from isoplan.engine.planning.amplitude.reply import answer

    sources = Sources(
        amplitudes.best_laws(),
        amplitudes.published_law,
        lambda: (*amplitudes.trained_cells(), *(cell for table in cells for cell in _read_cells(table))),
    )
    texts = {
        "target_mse": as_text(target_mse), "target_error": as_text(target_error), "error": error,
        "sigma": as_text(sigma), "process": process, "axis": axis, "held": held, "network": network,
        "trained": trained, "cells": "tables" if cells else "", "floor": as_text(floor),
    }  # fmt: skip
    read = [_read_anchor(one) for one in anchors]
    return answer(read_plan(particles, texts, "python", sources, read, fixed_energy=fixed_energy))


def _read_anchor(anchor: Anchor | Mapping[str, Amount]) -> Anchor:
    """Return an anchor; the axis that limits it is the first name of a mapping."""
    from isoplan.engine.planning.amplitude.evidence import Anchor
    from isoplan.engine.planning.amplitude.inputs import OF_ANCHOR, read_anchor

    if isinstance(anchor, Anchor):
        return anchor
    unknown = next((name for name in anchor if name not in OF_ANCHOR), "")
    if unknown:
        raise PlannerError(f"Option anchors: {unknown} is unknown. Use {', '.join(OF_ANCHOR)}.")
    usage = 'Option anchors: name the axis that limits the run first, and its loss: {"D": 1e4, "loss": 1e-3}.'
    return read_anchor({name: as_text(x) for name, x in anchor.items()}, "option anchors", usage)


def _read_cells(table: Table) -> tuple[TrainedCell, ...]:
    """Return the trained cells of a table."""
    from isoplan.engine.planning.amplitude.cells import MOST_ROWS, read_frame
    from isoplan.engine.store.database.database import memory
    from isoplan.engine.store.files.table_files import table_bytes
    from isoplan.engine.store.tables import tables

    content, name = table_bytes(as_source(table))
    with memory() as db:
        return read_frame(tables.frame(db, tables.add(db, content, name).id, limit=MOST_ROWS), name)
