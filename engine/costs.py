"""Training compute C from model size N and samples D, and back. Pure functions.

Unit of C is FLOPs, of N parameters, of D samples (tokens, jets, events).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.errors import PlannerError
from engine.formula import Formula, Ints, parse_formula

Floats = NDArray[np.float64]
RULES = ("6ND", "6npND", "formula")
FEWEST_SAMPLES, MOST_SAMPLES = 1e-9, 1e40
"""Where D is looked for when a formula is solved for it."""
HUGE = 1e30


class ComputeRule(BaseModel):
    """How C follows from N and D.

    ``6ND``      C = 6 N D (Kaplan et al. 2020, sec. 2.1), with D in tokens.
    ``6npND``    C = 6 n_p N D, with D in samples of ``n_p`` tokens each (jets, eq. 2).
    ``formula``  C = ``formula``, of N, D, n_p and, for runs, any other column; it must grow with D.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: Literal["6ND", "6npND", "formula"] = "6ND"
    n_p: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    formula: str = ""

    @model_validator(mode="after")
    def _readable(self) -> ComputeRule:
        if self.rule == "formula":
            _ = self.parsed
        elif self.formula:
            raise PlannerError(f"Compute rule {self.rule} takes no formula: name the rule 'formula' or leave it out.")
        return self

    @property
    def parsed(self) -> Formula:
        """The formula of a rule that is one; raises PlannerError where it cannot be read or reads no column."""
        formula = parse_formula(self.formula)
        if not formula.names - {"n_p"}:
            raise PlannerError(f"The formula {self.formula!r} uses no column: C must depend on N or D, as in 6*N*D.")
        return formula

    @property
    def proportional(self) -> bool:
        """Whether C is a constant times N D, for which the laws have closed forms."""
        return self.rule != "formula"

    @property
    def per_pair(self) -> float:
        """FLOPs for one parameter and one sample: C = per_pair * N * D. Raises PlannerError for a formula."""
        if not self.proportional:
            raise PlannerError(f"{self.text} is no fixed number of FLOPs for a parameter and a sample.")
        return 6.0 * (self.n_p if self.rule == "6npND" else 1.0)

    def flops(
        self, N: ArrayLike, D: ArrayLike, columns: Mapping[str, ArrayLike] | None = None, ids: Ints | None = None
    ) -> Floats:
        """C in FLOPs, broadcast over ``N`` and ``D``; ``columns`` are what else a formula may read, by name.

        ``ids`` (n,) name the rows in errors.

        Where ``columns`` has no epochs and U the formula sees one pass: epochs = 1, U = D.
        """
        N, D = np.asarray(N, float), np.asarray(D, float)
        if self.proportional:
            return self.per_pair * N * D
        return (
            np.broadcast_to(self.parsed(self._columns(N, D, columns), ids), np.broadcast_shapes(N.shape, D.shape)) + 0.0
        )

    def flops_anywhere(self, N: ArrayLike, D: ArrayLike) -> Floats:
        """``flops`` of one pass, with NaN or infinity where a formula overflows or leaves a function's domain."""
        N, D = np.asarray(N, float), np.asarray(D, float)
        return self.parsed.unchecked(self._columns(N, D)) if not self.proportional else self.per_pair * N * D

    def _columns(self, N: Floats, D: Floats, others: Mapping[str, ArrayLike] | None = None) -> dict[str, ArrayLike]:
        return {"epochs": 1.0, "U": D, **(others or {}), "N": N, "D": D, "n_p": self.n_p}

    def samples(self, C: ArrayLike, N: ArrayLike, columns: Mapping[str, ArrayLike] | None = None) -> Floats:
        """D that spends exactly ``C`` FLOPs on a model of ``N`` parameters; ``columns`` as for ``flops``.

        A formula is solved for D; NaN where no D between 1e-9 and 1e40 spends ``C``.
        """
        C, N = np.asarray(C, float), np.asarray(N, float)
        if self.proportional:
            return C / (self.per_pair * N)
        formula = self.parsed
        others = {k: v for k, v in (columns or {}).items() if k in formula.names - {"N", "D", "n_p"}}

        def excess(x: Floats, C: Floats, N: Floats, *given: Floats) -> Floats:
            named = dict(zip(others, given, strict=True))
            return np.log(formula.unchecked(self._columns(N, np.exp(x), named)) / C)

        low, high = np.log(FEWEST_SAMPLES), np.log(MOST_SAMPLES)
        return np.exp(increasing_root(excess, low, high, C, N, *others.values()))

    @property
    def text(self) -> str:
        """The rule as it stands beside a number: ``C = 6 N D``."""
        if self.rule == "formula":
            return f"C = {self.formula.strip()}" + (f" with n_p = {self.n_p:g}" if "n_p" in self.parsed.names else "")
        return "C = 6 N D" if self.rule == "6ND" else f"C = 6 n_p N D with n_p = {self.n_p:g}"

    def to_json(self) -> dict[str, str | float]:
        """The rule in the JSON of fits and plans; ``formula`` only where it is one."""
        return {"rule": self.rule, "n_p": self.n_p} | ({"formula": self.formula} if self.rule == "formula" else {})


def compute_rule(name: str, n_p: float = 1.0, formula: str = "") -> ComputeRule:
    """The rule called ``name``; raises PlannerError for an unknown name, a bad ``n_p`` or a bad formula."""
    if name not in RULES:
        raise PlannerError(f"Compute rule {name!r} is unknown: use {', '.join(RULES[:-1])} or {RULES[-1]}.")
    if not (np.isfinite(n_p) and n_p > 0):
        raise PlannerError(f"n_p = {n_p:g} is not a number of tokens per sample: use a positive number.")
    return ComputeRule(rule=name, n_p=n_p, formula=formula)  # type: ignore[arg-type]


def increasing_root(f: Callable[..., Floats], low: float, high: float, *args: ArrayLike) -> Floats:
    """Where an increasing ``f(x, *args)`` crosses zero in [low, high], element by element over ``args``; NaN where not.

    Where ``f`` is NaN counts as below zero (a logarithm left of its domain). Chandrupatla's method, scipy's.
    """
    from scipy.optimize.elementwise import find_root  # 0.2 s to import, and few plans need it

    arrays = np.broadcast_arrays(*(np.asarray(a, float) for a in args))
    ends = np.full(arrays[0].shape, low), np.full(arrays[0].shape, high)
    with np.errstate(all="ignore"):
        found = find_root(
            lambda x, *a: np.nan_to_num(f(x, *a), nan=-HUGE, posinf=HUGE, neginf=-HUGE), ends, args=tuple(arrays)
        )
    return np.where(found.success, found.x, np.nan)
