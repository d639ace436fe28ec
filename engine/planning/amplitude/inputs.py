"""Inputs of the question "Precision", and the plan for these inputs, for the page, the terminal and Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.cells import TrainedCell, by_error, most_anchors, spread_of, spread_of_process
from isoplan.engine.planning.amplitude.evidence import Anchor, Axis, PublishedLaw
from isoplan.engine.planning.amplitude.plan import AXES, AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Kind, Precision, check_kind, of_error, of_mse
from isoplan.engine.planning.amplitude.reached import precision_of
from isoplan.engine.planning.amplitude.scaling import plan_amplitude, plan_fitted
from isoplan.engine.planning.amplitude.trained import plan_trained
from isoplan.engine.planning.scenario.fields import Field, Place, Texts
from isoplan.engine.planning.scenario.typed_rules import option_name, refuse_alone
from isoplan.engine.quantities import parse_number, parse_share

MSE, ERROR = TARGETS = (
    Field("target_mse", "Target MSE of the standardised log amplitude, or of the raw amplitude for laws of ttH.",
          "Target MSE"),
    Field("target_error", "Target relative error instead of the MSE, such as 0.001 or 0.1%. An RMS error needs a "
          "process or --sigma.",
          "Target relative error", read=parse_share),
)  # fmt: skip
POINTS = Field(
    "points", "Number of training points instead of a target; the answer is the precision that these points reach.",
    "Training points",
    said="number of points",
)  # fmt: skip
SIGMA = Field("sigma", "Standard deviation of log A over the points; by default that of the trained cells of the "
              "process.", "Standard deviation of log A", hint="of the process")  # fmt: skip
LAW = (
    Field("process", "Published process instead of an anchor: ttH, Zg, ..., Zgggg, WZ, WWZ, yyg, yygg."),
    Field("axis", "The axis of the published law: D (the usual one), C or N."),
    Field("held", 'Value of the other axis in the published law, such as "N = 1e6".'),
    Field(
        "network",
        'Network and loss of the published law, such as "MLP-I, heteroscedastic" or "LLoCa-Transformer, MSE".',
    ),
)
FLOOR = Field(
    "floor", "Noise of the amplitudes [MSE].", "Floor of the loss [MSE]", start="0", default="0", said="floor",
    tip="Noise of the amplitudes: zero at tree level, and the accuracy of the loop integrals at loop level. You can "
    "enter the limit of the loss for infinitely many points instead.",
)  # fmt: skip
NEEDS = {"axis": "process", "held": "process", "network": "process", "cells": "trained"}
"""Options that require another option. Keys are the options, values the required options."""
OF_ANCHOR = ("D", "N", "C", "loss", "epochs", "flops", "doubled")
"""Names of the numbers that a user can type for an anchor."""


@dataclass(frozen=True)
class Sources:
    """Published laws and trained cells that a plan can use.

    ``best`` are published laws of all processes. ``find_law`` returns the law for a process, an axis, a fixed value of
    the other axis, and a network. ``cells`` is a function that reads the trained cells.
    """

    best: Sequence[PublishedLaw]
    find_law: Callable[..., PublishedLaw]
    cells: Callable[[], Iterable[TrainedCell]]


def read_plan(
    n_f: int,
    texts: Texts,
    place: Place,
    sources: Sources,
    anchors: Sequence[Anchor] = (),
    *,
    fixed_energy: bool = False,
) -> AmplitudePlan:
    """Return the plan for ``n_f`` final-state particles. ``texts`` are the typed texts, keyed by option name.

    If ``texts`` contain a number of points instead of a target, the plan is for the precision that these points reach.
    The plan is computed from the trained cells of the process ``trained``, from the published law of ``process``, or
    from ``anchors``. Raises PlannerError if an input cannot be read, if inputs exclude each other, or if there is no
    plan.
    """
    process, trained = texts.get("process", ""), texts.get("trained", "")
    _check_evidence(texts, bool(anchors), fixed_energy, place)
    floor, kind = (
        FLOOR.value(texts["floor"], place),
        check_kind(texts["error"], f"Option {option_name('error', place)}"),
    )
    if kind != "rms" and not (texts.get(ERROR.name) or texts.get(POINTS.name)):
        refuse_alone("error", ERROR.name, place)
    plan: Callable[[Precision], AmplitudePlan]
    known: float | None = None
    if trained:
        points = most_anchors(by_error(sources.cells(), kind), trained)
        known = spread_of(points)
        plan = partial(plan_trained, n_f, found=points, published=sources.best, floor=floor)
    elif process:
        network = texts.get("network", "")
        place_of_law = (texts.get("axis") or "D", texts.get("held", ""), *([network] if network else []))
        law = sources.find_law(process, *place_of_law)
        known = None if law.raw else spread_of_process(sources.cells(), process)
        plan = partial(plan_amplitude, n_f, law=law, published=sources.best, floor=floor, fixed_energy=fixed_energy)
    else:
        anchored = {"anchors": anchors, "published": sources.best, "floor": floor, "fixed_energy": fixed_energy}
        plan = partial(plan_fitted, "", n_f, **anchored)
    if count := _read_points(texts, place):
        spread = SIGMA.value(texts[SIGMA.name], place) if texts.get(SIGMA.name) else known
        return precision_of(count, plan, spread, kind)
    return plan(target=_read_target(texts, kind, place, known))


def _check_evidence(texts: Texts, anchored: bool, fixed_energy: bool, place: Place) -> None:
    """Raise PlannerError if an option lacks another option that it requires, or if inputs exclude each other."""
    trained = texts.get("trained", "")
    for name, needed in NEEDS.items():
        if texts.get(name) and not texts.get(needed):
            refuse_alone(name, needed, place)
    if sum(map(bool, (trained, anchored, texts.get("process")))) > 1:
        raise PlannerError(
            "Trained cells, anchors and a published law exclude each other, because each fixes the scale. Give one of "
            "them."
        )
    if trained and fixed_energy:
        energy, cells = option_name("fixed_energy", place), option_name("trained", place)
        raise PlannerError(
            f"Option {energy} is not possible with {cells}, because the cells determine whether the energy is fixed. "
            f"Leave {energy} out."
        )


def _read_target(texts: Texts, kind: Kind, place: Place, known: float | None = None) -> Precision:
    """Read the target. ``known`` is the standard deviation of log A that is used if the user types none."""
    mse, error, sigma = (texts.get(field.name, "") for field in (MSE, ERROR, SIGMA))
    if bool(mse) == bool(error):
        raise PlannerError(_one_question(place))
    spread = SIGMA.value(sigma, place) if sigma else known
    return of_mse(MSE.value(mse, place), spread) if mse else of_error(ERROR.value(error, place), spread, kind)


def _read_points(texts: Texts, place: Place) -> float | None:
    """Read the number of points whose precision the user asks for; None if the user gives a target instead."""
    if not texts.get(POINTS.name):
        return None
    if texts.get(MSE.name) or texts.get(ERROR.name):
        raise PlannerError(_one_question(place))
    return POINTS.value(texts[POINTS.name], place)


def _one_question(place: Place) -> str:
    if place == "terminal":
        return f"Ask one question: give either {MSE.option}, {ERROR.option} or {POINTS.option}."
    return f"Options {MSE.name}, {ERROR.name}, {POINTS.name}: give exactly one of them."


def read_anchor(texts: Mapping[str, str], option: str, usage: str) -> Anchor:
    """Return the anchor from typed ``texts``, keyed by the names in ``OF_ANCHOR``. The first key is the limiting axis.

    ``option`` is the option name in messages. Raises PlannerError if a number cannot be read. If the axis or the loss
    is missing, the message of the error is ``usage``.
    """
    numbers = {
        name: (parse_share if name == "doubled" else parse_number)(text, f"{name} of {option}")
        for name, text in texts.items()
    }
    axis = next(iter(numbers), "")
    if axis not in AXES or "loss" not in numbers:
        raise PlannerError(usage)
    return make_anchor(axis, numbers[axis], numbers)


def make_anchor(axis: Axis, x: float, numbers: Mapping[str, float]) -> Anchor:
    """Return the anchor limited by ``axis`` at ``x``. ``numbers`` are keyed by the names in ``OF_ANCHOR``."""
    return Anchor(axis, x, numbers["loss"], N=numbers.get("N"), epochs=numbers.get("epochs"),
                  flops_per_sample=numbers.get("flops"), doubled=numbers.get("doubled"))  # fmt: skip
