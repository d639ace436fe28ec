"""`isoplan amplitude`: plan N, D and C of an amplitude surrogate for a required precision, before it is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.amplitude_cells import of_file
from isoplan.app.commands.shared.options import AsJson, Form, as_texts, with_fields
from isoplan.app.commands.shared.output import say_as
from isoplan.data import amplitudes
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.evidence import Anchor
from isoplan.engine.planning.amplitude.inputs import (
    FLOOR,
    LAW,
    OF_ANCHOR,
    POINTS,
    SIGMA,
    TARGETS,
    Sources,
    read_anchor,
    read_plan,
)
from isoplan.engine.planning.amplitude.reply import answer


@with_fields([FLOOR], before="fixed_energy")
@with_fields(LAW, before="trained")
@with_fields([SIGMA], before="anchor")
@with_fields([*TARGETS, POINTS], before="error")
def amplitude(
    particles: Annotated[int, typer.Option(help="Final-state particles n_f.")],
    error: Annotated[
        str,
        typer.Option(
            metavar="rms|median|99%",
            help="Kind of --target-error: the RMS over the points, the median, or the error that 99 % of the points "
            "do not exceed. Median and 99 % need --trained.",
        ),
    ] = "rms",
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="D=1e4,loss=1e-3,...",
            help="A run. The first name (D, C or N) is the axis that limits its loss. Optional: N, epochs, flops "
            "(FLOPs per point) and doubled, the relative decrease of the loss if the other axes are doubled (negative "
            "for an increase). May be repeated: with runs at two or more values of D, their exponent replaces the "
            "bound 4/d.",
        ),
    ] = None,
    trained: Annotated[
        str,
        typer.Option(
            metavar="PROCESS", help="Process of trained cells. The law fitted to these cells replaces the bound 4/d."
        ),
    ] = "",
    cells: Annotated[
        list[Path] | None,
        typer.Option(help="Table of amplitude cells, in addition to the bundled ones; may be repeated."),
    ] = None,
    fixed_energy: Annotated[
        bool,
        typer.Option(
            "--fixed-energy",
            help="All points have the same collision energy, so the dimension d of the phase space is smaller by one.",
        ),
    ] = False,
    form: Form = "text",
    as_json: AsJson = False,
    **texts: Any,
) -> None:
    """Plan N, D and C of an amplitude surrogate, or find its precision."""
    paths = cells or []
    sources = Sources(
        amplitudes.best_laws(),
        amplitudes.published_law,
        lambda: (*amplitudes.trained_cells(), *(cell for path in paths for cell in of_file(path))),
    )
    typed = as_texts(texts) | {"error": error, "trained": trained, "cells": " ".join(map(str, paths))}
    anchors = [_anchor(text) for text in anchor or []]
    found = answer(read_plan(particles, typed, "terminal", sources, anchors, fixed_energy=fixed_energy))
    say_as("json" if as_json else form, found.text, found.file, found.warnings)


def _anchor(text: str) -> Anchor:
    """Return the anchor run that ``text`` describes, such as ``D=1e4,loss=1e-3,N=1e5``.

    The first name is the axis that limits the loss of this run.
    """
    given: dict[str, str] = {}
    for entry in text.split(","):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or name not in OF_ANCHOR:
            raise PlannerError(f"--anchor cannot read {entry!r}: write NAME=VALUE with one of {', '.join(OF_ANCHOR)}.")
        if name in given:
            raise PlannerError(f"--anchor names {name} twice: keep one.")
        given[name] = value
    usage = f"--anchor {text!r} must begin with the axis that limits the run, and needs its loss: D=1e4,loss=1e-3."
    return read_anchor(given, "--anchor", usage)
