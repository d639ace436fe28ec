"""Two laws of one task share their floor: the one-pass law and the law of repeated samples (jets, Sec. 3.1).

They are fitted apart, so their floors differ by their errors. Where that is all, the difference is conditioned to be
zero: theta - cov(theta, gap) / var(gap) x gap, for the best fit and for each resample, with floors as they are and
everything else in logs. That is the least-squares solution of both fits under the constraint, for Gaussian errors.
Where the resamples reject a common floor each law keeps its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.errors import PlannerError
from engine.fitting.resampling import Resampling
from engine.fitting.result import Fit
from engine.laws.law import Floats
from engine.planning.metric import same_runs
from engine.planning.quantity import kept

ONE_PASS = ("E", "A", "B", "alpha", "beta")
REPEATED = ("L_inf", "B_rep", "beta_rep")
Named = dict[str, Floats]
LIMIT = 1.96
"""Standard errors of the difference of the floors beyond which a common one is rejected (95 %)."""


@dataclass(frozen=True, eq=False)
class Laws:
    """Both laws' parameters by name: best fit, each of shape (), and joint resamples, each (r,).

    ``shared`` says whether they have one floor; ``gap`` is E - L_inf as fitted.
    """

    best: Mapping[str, Floats]
    draws: Mapping[str, Floats]
    shared: bool
    gap: float
    how: Resampling

    @property
    def resamples(self) -> int:
        return len(self.draws["E"])


def together(one_pass: Fit, repeated: Fit) -> Laws:
    """Both laws with one floor where the resamples allow it.

    Resample i of one goes with resample i of the other where both drew the same runs; else the two are independent,
    and the order of the second is shuffled so that equal seeds do not tie them.

    Raises PlannerError for laws that are not these two, or not of a loss.
    """
    one, rep = _one_pass(one_pass), _repeated(repeated)
    best = {name: np.asarray(x, float) for name, x in {**one[0], **rep[0]}.items()}
    r, order = min(len(one_pass.resamples), len(repeated.resamples)), np.arange(len(repeated.resamples))
    if not same_runs(one_pass, repeated):
        order = np.random.default_rng(repeated.spec.seed).permutation(order)
    first, second = kept(len(one_pass.resamples), r), order[kept(len(order), r)]
    draws = {name: np.asarray(x, float)[first] for name, x in one[1].items()}
    draws |= {name: np.asarray(x, float)[second] for name, x in rep[1].items()}
    gap = float(best["E"] - best["L_inf"])
    how = _joint(one_pass.resampling, repeated.resampling)
    if gap == 0 and not r:
        return Laws(best, draws, True, gap, how)
    if not r:
        return Laws(best, draws, False, gap, how)
    spread = float(np.std(draws["E"] - draws["L_inf"]))
    if abs(gap) > LIMIT * spread:
        return Laws(best, draws, False, gap, how)
    return Laws(*_conditioned(best, draws), True, gap, how)


def _conditioned(best: Mapping[str, Floats], draws: Mapping[str, Floats]) -> tuple[Named, Named]:
    """Best fit and resamples under E = L_inf; resamples with a vanished term become NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        at = {name: x if name in ("E", "L_inf") else np.log(x) for name, x in best.items()}
        each = {name: x if name in ("E", "L_inf") else np.log(x) for name, x in draws.items()}
    gaps, gap = each["E"] - each["L_inf"], at["E"] - at["L_inf"]
    sound = np.all([np.isfinite(x) for x in each.values()], axis=0)
    centred = gaps[sound] - gaps[sound].mean()
    variance = float(centred @ centred)
    found: tuple[Named, Named] = ({}, {})
    for name, x in each.items():
        slope = float(centred @ x[sound]) / variance if variance > 0 else 0.0
        for out, value, shift in ((found[0], at[name], gap), (found[1], np.where(sound, x, np.nan), gaps)):
            moved = value - slope * shift
            out[name] = np.asarray(moved if name in ("E", "L_inf") else np.exp(moved))
    for out in found:
        out["L_inf"] = out["E"]
    return found


def _one_pass(fit: Fit) -> tuple[Mapping[str, Floats], Mapping[str, Floats]]:
    if not set(ONE_PASS) <= set(fit.law.names):
        raise PlannerError(
            f"The one-pass law must be a surface over N and D and this fit is {fit.law.key}: fit chinchilla."
        )
    _of_a_loss(fit)
    return {n: fit.values[n] for n in ONE_PASS}, {n: fit.draws[n] for n in ONE_PASS}


def _repeated(fit: Fit) -> tuple[Mapping[str, Floats], Mapping[str, Floats]]:
    """L_inf, B_rep and beta_rep of the law repetition, or of power, which is the same with B_rep = X_c^alpha."""
    _of_a_loss(fit)
    if fit.law.name == "repetition":
        return fit.values, fit.draws
    if fit.law.name == "power" and fit.law.axis in ("D", "U"):
        return _of_power(fit.values), _of_power(fit.draws)
    raise PlannerError(
        f"The law of repeated samples must be repetition over unique samples and this fit is {fit.law.key}: "
        "fit repetition to runs trained until the loss stops falling."
    )


def _of_power(v: Mapping[str, Floats]) -> Named:
    return {"L_inf": v["K"], "B_rep": v["X_c"] ** v["alpha"], "beta_rep": v["alpha"]}


def _of_a_loss(fit: Fit) -> None:
    if fit.sign < 0:
        raise PlannerError(f"Simulate or repeat weighs a loss and {fit.spec.y} grows when it improves: fit the loss.")


def _joint(one: Resampling, other: Resampling) -> Resampling:
    """How joint resamples are read: bias-corrected where both were drawn so, by the fit with fewer runs to spare."""
    if one.method == other.method == "bc" and not (one.floorless or other.floorless):
        return min((one, other), key=lambda how: how.runs - how.parameters if how.runs else math.inf)
    return Resampling("percentile")
