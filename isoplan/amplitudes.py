"""Size, data and compute of an amplitude surrogate for a required precision, before it is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from isoplan.answers import Answer
from isoplan.engine.errors import PlannerError
from isoplan.options import Amount, as_text, read_number
from isoplan.tables import as_source

if TYPE_CHECKING:
    from isoplan.engine.planning.amplitude import AmplitudePlan, Anchor, Kind, Precision, TrainedCell
    from isoplan.engine.planning.amplitude.anchors import Axis
    from isoplan.tables import Table

FIELDS = ("D", "N", "C", "loss", "epochs", "flops", "doubled")
AXES = ("D", "N", "C")
MOST_CELLS = 20_000
"""Maximum number of rows read from a table of trained cells."""


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
) -> Answer[AmplitudePlan]:
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
    from isoplan.engine.planning.amplitude import as_text, check_kind
    from isoplan.engine.planning.amplitude.document import document

    kind = check_kind(error, "Option error")
    _check_evidence({"axis": axis, "held": held, "network": network}, process, anchors, trained, cells)
    if trained and fixed_energy:
        raise PlannerError("Option fixed_energy: the trained cells determine the energy. Remove it.")
    if kind != "rms" and target_error is None:
        raise PlannerError("Option error: it is the kind of target_error. Add target_error, or remove it.")
    noise = read_number(floor, "floor")
    if trained:
        answer = _by_cells(particles, trained, cells, (target_mse, target_error, sigma), kind, noise)
    else:
        goal = _read_target(target_mse, target_error, sigma, kind)
        law = (process, axis or "D", held, network) if process else None
        answer = _by_law(particles, goal, [_read_anchor(one) for one in anchors], law, noise, fixed_energy)
    return Answer(answer, as_text(answer), document(answer), answer.warnings)


def _check_evidence(
    of_law: Mapping[str, str], process: str, anchors: Sequence[object], trained: str, cells: Sequence[object]
) -> None:
    """Raise PlannerError for more than one evidence, and for an option whose evidence is missing."""
    alone = next((name for name, x in of_law.items() if x and not process), "")
    if alone or (cells and not trained):
        raise PlannerError(f"Option {alone or 'cells'}: it belongs to {'process' if alone else 'trained'}. Add it.")
    if sum(map(bool, (trained, anchors, process))) > 1:
        raise PlannerError("Options trained, anchors, process: each fixes the scale. Use one of them.")


def _by_cells(
    particles: int,
    process: str,
    tables: Sequence[Table],
    target: tuple[Amount | None, Amount | None, Amount | None],
    kind: Kind,
    floor: float,
) -> AmplitudePlan:
    """Return the plan from the law of trained cells: the bundled ones and those of ``tables``."""
    from isoplan.data.amplitudes import best_laws, trained_cells
    from isoplan.engine.planning.amplitude import by_error, most_anchors, plan_trained, spread_of

    every = (*trained_cells(), *(cell for table in tables for cell in _read_cells(table)))
    points = most_anchors(by_error(every, kind), process)
    goal = _read_target(*target, kind, spread_of(points))
    return plan_trained(particles, goal, points, best_laws(), floor=floor)


def _by_law(
    particles: int,
    goal: Precision,
    anchors: Sequence[Anchor],
    law: tuple[str, str, str, str] | None,
    floor: float,
    fixed_energy: bool,
) -> AmplitudePlan:
    """Return the plan from a published law (process, axis, fixed quantity, network), or from anchors and the bound."""
    from isoplan.data.amplitudes import best_laws, published_law
    from isoplan.engine.planning.amplitude import plan_amplitude, plan_fitted

    if law is None:
        return plan_fitted("", particles, goal, anchors, best_laws(), floor=floor, fixed_energy=fixed_energy)
    *place, network = law
    published = published_law(*place, **({"network": network} if network else {}))
    return plan_amplitude(particles, goal, (), published, best_laws(), floor=floor, fixed_energy=fixed_energy)


def _read_target(
    mse: Amount | None, error: Amount | None, sigma: Amount | None, kind: Kind, known: float | None = None
) -> Precision:
    """Return the target; the standard deviation of log A is ``sigma``, else the ``known`` one of trained cells."""
    from isoplan.engine.planning.amplitude import of_error, of_mse
    from isoplan.engine.quantities import parse_share

    if (mse is None) == (error is None):
        raise PlannerError("Options target_mse, target_error: give exactly one of them.")
    spread = known if sigma is None else read_number(sigma, "sigma")
    if error is None:
        return of_mse(read_number(mse, "target_mse"), spread)
    return of_error(parse_share(as_text(error), "option target_error"), spread, kind)


def _read_anchor(anchor: Anchor | Mapping[str, Amount]) -> Anchor:
    """Return an anchor; the axis that limits it is the first name of a mapping."""
    from isoplan.engine.planning.amplitude import Anchor
    from isoplan.engine.quantities import parse_number, parse_share

    if isinstance(anchor, Anchor):
        return anchor
    unknown = next((name for name in anchor if name not in FIELDS), "")
    if unknown:
        raise PlannerError(f"Option anchors: {unknown} is unknown. Use {', '.join(FIELDS)}.")
    axis = next(iter(anchor), "")
    if axis not in AXES or "loss" not in anchor:
        raise PlannerError(
            'Option anchors: name the axis that limits the run first, and its loss: {"D": 1e4, "loss": 1e-3}.'
        )
    read = {
        name: (parse_share if name == "doubled" else parse_number)(as_text(x), f"{name} of option anchors")
        for name, x in anchor.items()
    }
    return Anchor(
        cast("Axis", axis),
        read[axis],
        read["loss"],
        N=read.get("N"),
        epochs=read.get("epochs"),
        flops_per_sample=read.get("flops"),
        doubled=read.get("doubled"),
    )


def _read_cells(table: Table) -> tuple[TrainedCell, ...]:
    """Return the trained cells of a table."""
    from isoplan.engine.planning.amplitude import read_cells
    from isoplan.engine.store.database.database import memory
    from isoplan.engine.store.files.table_files import table_bytes
    from isoplan.engine.store.tables import tables

    content, name = table_bytes(as_source(table))
    with memory() as db:
        rows = tables.frame(db, tables.add(db, content, name).id, limit=MOST_CELLS)
    return read_cells(rows.astype(object).where(rows.notna(), None).to_dict("records"), name)
