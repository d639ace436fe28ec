"""Plan the size, the training data and the compute of an amplitude surrogate for a required precision."""

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
    points: Amount | None = None,
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
    target_mse : number
        The required MSE of the standardised log amplitude.
    target_error : number
        The required relative error, such as 0.001 or "0.1%", instead of ``target_mse``.
    points : number
        A number of training points, instead of a required precision. The answer is the precision for these points.
    error : str
        The kind of relative error: "rms" over the points, "median", or "99%" (the error that 99 % of the points
        do not exceed).
    sigma : number
        The standard deviation of log A over the points, which an RMS error needs. The default is the value of the
        trained cells of the process.
    anchors : several
        Small runs that determine the law: {"D": 1e4, "loss": 2e-3, "N": 1e5, "doubled": 0.03}. The first
        name is the axis that limits the loss of the run.
    process : str
        A process with a published law, such as "Zgg". This law is then used instead of anchors.
    axis, held, network : str
        The axis of the published law ("D", "C" or "N"), the fixed value of the other axis ("N = 1e6"), and the network.
    trained : str
        A process whose trained cells determine the law.
    cells : several tables
        Further trained cells, in addition to the bundled ones.
    floor : number
        The MSE of the noise in the amplitudes.
    fixed_energy : bool
        Whether all events have the same collision energy.

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
        "target_mse": as_text(target_mse), "target_error": as_text(target_error), "points": as_text(points),
        "error": error, "sigma": as_text(sigma), "process": process, "axis": axis, "held": held, "network": network,
        "trained": trained, "cells": "tables" if cells else "", "floor": as_text(floor),
    }  # fmt: skip
    read = [_read_anchor(one) for one in anchors]
    return answer(read_plan(particles, texts, "python", sources, read, fixed_energy=fixed_energy))


def _read_anchor(anchor: Anchor | Mapping[str, Amount]) -> Anchor:
    """Return the anchor run. In a mapping, the first key is the axis that limits the loss of the run."""
    from isoplan.engine.planning.amplitude.evidence import Anchor
    from isoplan.engine.planning.amplitude.inputs import OF_ANCHOR, read_anchor

    if isinstance(anchor, Anchor):
        return anchor
    unknown = next((name for name in anchor if name not in OF_ANCHOR), "")
    if unknown:
        raise PlannerError(f"Option anchors: {unknown} is unknown. Use {', '.join(OF_ANCHOR)}.")
    usage = (
        'Option anchors: give the axis that limits the run, then the loss of the run, as in {"D": 1e4, "loss": 1e-3}.'
    )
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
