"""`isoplan amplitude`: N, D and C of an amplitude surrogate for a given precision, before large trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoplan.app.amplitude_cells import of_file
from isoplan.app.commands.shared.options import AsJson, Form
from isoplan.app.commands.shared.output import say_as
from isoplan.data.amplitudes import best_laws, published_law, trained_cells
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude import (
    Anchor,
    Kind,
    Precision,
    PublishedLaw,
    as_text,
    by_error,
    check_kind,
    most_anchors,
    of_error,
    of_mse,
    plan_amplitude,
    plan_fitted,
    plan_trained,
    spread_of,
)
from isoplan.engine.planning.amplitude.anchors import Axis
from isoplan.engine.planning.amplitude.document import document
from isoplan.engine.quantities import parse_number, parse_share

AXES: tuple[Axis, ...] = ("D", "N", "C")
FIELDS = ("D", "N", "C", "loss", "epochs", "flops", "doubled")


def amplitude(
    particles: Annotated[int, typer.Option(help="Final-state particles n_f.")],
    target_mse: Annotated[
        str, typer.Option(help="Target MSE of the standardised log amplitude; for laws of ttH, of the raw amplitude.")
    ] = "",
    target_error: Annotated[
        str, typer.Option(help="Target relative error instead, 0.001 or 0.1%; an RMS error requires --sigma.")
    ] = "",
    error: Annotated[
        str,
        typer.Option(
            metavar="rms|median|99%",
            help="Kind of --target-error: the RMS over the points, the median, or the error of 99 % of the points. "
            "Median and 99 % need --trained.",
        ),
    ] = "rms",
    sigma: Annotated[str, typer.Option(help="Standard deviation of log A over the points.")] = "",
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="D=1e4,loss=1e-3,...",
            help="A run limited by D (or by C or N, named first). Optional: N, epochs, flops (FLOPs per point) and "
            "doubled, the relative decrease of its loss if the other axes are doubled (negative for an increase). May "
            "be repeated: with two or more D, the law of the runs replaces the bound.",
        ),
    ] = None,
    process: Annotated[
        str, typer.Option(help="Published process instead: ttH, Zg, ..., Zgggg, WZ, WWZ, yyg, yygg.")
    ] = "",
    axis: Annotated[str, typer.Option(help="The axis of the published law: D (the usual one), C or N.")] = "",
    held: Annotated[str, typer.Option(help='Value of the other axis in the published law, "N = 1e6".')] = "",
    network: Annotated[
        str,
        typer.Option(help='Its architecture and loss, "MLP-I, heteroscedastic" or "LLoCa-Transformer, MSE".'),
    ] = "",
    trained: Annotated[
        str, typer.Option(metavar="PROCESS", help="Process of trained cells, whose law replaces the bound.")
    ] = "",
    cells: Annotated[
        list[Path] | None,
        typer.Option(help="Table of amplitude cells, in addition to the bundled ones; may be repeated."),
    ] = None,
    floor: Annotated[str, typer.Option(help="Noise of the amplitudes [MSE].")] = "0",
    fixed_energy: Annotated[
        bool, typer.Option("--fixed-energy", help="All points have one collision energy; d decreases by one.")
    ] = False,
    form: Form = "text",
    as_json: AsJson = False,
) -> None:
    """Plan N, D and C of an amplitude surrogate before training."""
    alone = next((name for name, given in {"axis": axis, "held": held, "network": network}.items() if given), "")
    if alone and not process:
        raise PlannerError(f"--{alone} requires --process. Add it, or leave --{alone} out.")
    if cells and not trained:
        raise PlannerError("--cells requires --trained. Add the process, or leave --cells out.")
    if sum(map(bool, (trained, anchor, process))) > 1:
        raise PlannerError(
            "Trained cells, anchors and a published law exclude each other, because each fixes the "
            "scale. Give one of them."
        )
    if trained and fixed_energy:
        raise PlannerError(
            "--fixed-energy is not possible with --trained, because the cells contain their energies. Leave it out."
        )
    noise, kind = parse_number(floor, "option --floor"), check_kind(error, "--error")
    if kind != "rms" and not target_error:
        raise PlannerError("--error requires --target-error. Add it, or leave --error out.")
    if trained:
        every = (*trained_cells(), *(cell for table in cells or [] for cell in of_file(table)))
        found = most_anchors(by_error(every, kind), trained)
        goal = _target(target_mse, target_error, sigma, kind, spread_of(found))
        answer = plan_trained(particles, goal, found, best_laws(), floor=noise)
    elif process:
        law, goal = _law(process, axis or "D", held, network), _target(target_mse, target_error, sigma, kind)
        answer = plan_amplitude(particles, goal, (), law, best_laws(), floor=noise, fixed_energy=fixed_energy)
    else:
        given = [_anchor(text) for text in anchor or []]
        goal = _target(target_mse, target_error, sigma, kind)
        answer = plan_fitted("", particles, goal, given, best_laws(), floor=noise, fixed_energy=fixed_energy)
    say_as("json" if as_json else form, as_text(answer), document(answer), answer.warnings)


def _law(process: str, axis: str, held: str, network: str) -> PublishedLaw:
    return published_law(process, axis, held, **({"network": network} if network else {}))


def _target(mse: str, error: str, sigma: str, kind: Kind, known: float | None = None) -> Precision:
    """Return the target. The spread of log A is the given one, otherwise the ``known`` one of the cells."""
    spread = parse_number(sigma, "option --sigma") if sigma else known
    if bool(mse) == bool(error):
        raise PlannerError("Ask one question: give either --target-mse or --target-error.")
    if mse:
        return of_mse(parse_number(mse, "option --target-mse"), spread)
    return of_error(parse_share(error, "option --target-error"), spread, kind)


def _anchor(text: str) -> Anchor:
    """Return an anchor from ``D=1e4,loss=1e-3,N=1e5``; the axis that limits it comes first."""
    given: dict[str, float] = {}
    for entry in text.split(","):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or name not in FIELDS:
            raise PlannerError(f"--anchor cannot read {entry!r}: write NAME=VALUE with one of {', '.join(FIELDS)}.")
        if name in given:
            raise PlannerError(f"--anchor names {name} twice: keep one.")
        given[name] = (parse_share if name == "doubled" else parse_number)(value, f"{name} of --anchor")
    axis = next((a for a in AXES if a == next(iter(given))), None)
    if axis is None or "loss" not in given:
        raise PlannerError(f"--anchor {text!r} needs the axis that limits it first, and its loss: D=1e4,loss=1e-3.")
    return Anchor(
        axis,
        given[axis],
        given["loss"],
        N=given.get("N"),
        epochs=given.get("epochs"),
        flops_per_sample=given.get("flops"),
        doubled=given.get("doubled"),
    )
