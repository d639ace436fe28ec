"""Training compute C from model size N and number of samples D, and D from C and N.

C is in FLOPs, N in parameters, D in samples (tokens, jets, events).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_serializer, model_validator

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.costs.forms import Form, Powers, TwoPart, increasing_root
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import Formula, affine, parse_formula, short

RuleName = Literal["6ND", "6npND", "zetaND", "per-epoch", "powers", "step", "stage2", "formula"]
READS: dict[str, tuple[str, ...]] = {
    "6ND": (),
    "6npND": (),
    "zetaND": ("zeta",),
    "per-epoch": ("zeta", "epochs"),
    "powers": ("zeta", "a", "b"),
    "step": ("parts",),
    "stage2": ("parts",),
    "formula": ("formula",),
}
"""Fields that each rule uses in addition to n_p."""
NAMED = ("6ND", "6npND", "formula")
"""Rules that are fully defined by their name, n_p and (for "formula") a formula."""
FEWEST_SAMPLES, MOST_SAMPLES = 1e-9, 1e40
"""Range in which a formula for C is solved for D."""
MANY_SAMPLES = 1e30
"""A very large D, at which the slope of a formula linear in D is computed. Terms without D are then negligible."""
LEAST_ZETA, MOST_ZETA = 1e-3, 1e9
"""Accepted range of zeta, in FLOPs per parameter and sample. A value outside this range is due to a wrong unit."""


class ComputeRule(BaseModel):
    """Rule for C as a function of N and D.

    - ``6ND``: ``C = 6 * N * D`` (Kaplan et al. 2020, sec. 2.1), with D in tokens.
    - ``6npND``: ``C = 6 * n_p * N * D``, with D in samples of ``n_p`` tokens each (jets, eq. 2).
    - ``zetaND``: ``C = zeta * N * D``, zeta in FLOPs per parameter and sample (amplitudes, eq. 7).
    - ``per-epoch``: ``C = zeta * n_p * N * D * epochs``; D is the number of unique samples, each seen
      ``epochs`` times.
    - ``powers``: ``C = zeta * N**a * D**b``, fitted to measured C by ``isoplan.engine.costs.measured``.
    - ``step``: ``C = 6 * D * (t * p_e + p + 3 * B * L * h)``, for stage 1 of the model ``parts`` (behavioural, eq. 1).
    - ``stage2``: ``C = D * (6 * p + 4 * (B * L + K) * h)``, for stage 2 of ``parts`` with K extra negatives.
    - ``formula``: C is the value of ``formula``. It can contain N, D, n_p and, for runs, any other column. C must
      increase with D.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: RuleName = "6ND"
    n_p: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    formula: str = ""
    zeta: float = 6.0
    a: float = 1.0
    b: float = 1.0
    epochs: float = 1.0
    parts: TwoPart | None = None

    @model_validator(mode="after")
    def _readable(self) -> ComputeRule:
        for name in ("formula", "zeta", "a", "b", "epochs", "parts"):
            if name not in READS[self.rule] and getattr(self, name) != type(self).model_fields[name].default:
                takes = next((rule for rule, names in READS.items() if name in names), "")
                raise PlannerError(
                    f"Compute rule {self.rule} takes no {name}: use the rule {takes!r} or leave {name} out."
                )
        if self.rule == "formula":
            _ = self.parsed
        if self.rule in ("step", "stage2"):
            _ = self._two_part
        if self.rule == "step" and self._two_part.K:
            raise PlannerError(
                f"K = {self._two_part.K:g} extra negatives exist only in stage 2: use the rule 'stage2' or leave K out."
            )
        self._check_numbers()
        return self

    def _check_numbers(self) -> None:
        if self.rule in ("zetaND", "per-epoch"):
            check_zeta(self.zeta)
        for name, what in (("zeta", "FLOPs"), ("a", "exponent of N"), ("b", "exponent of D"), ("epochs", "passes")):
            x = getattr(self, name)
            if not (math.isfinite(x) and x > 0):
                raise PlannerError(
                    f"Compute rule {self.rule} cannot have {name} = {x:g} ({what}): give a positive number."
                )

    @property
    def parsed(self) -> Formula:
        """The parsed formula of the rule "formula"; raises PlannerError if it cannot be parsed or uses no column."""
        formula = parse_formula(self.formula)
        if not formula.names - {"n_p"}:
            raise PlannerError(
                f"The formula {short(self.formula)} uses no column: C must depend on N or D, as in 6*N*D."
            )
        return formula

    @property
    def _two_part(self) -> TwoPart:
        if self.parts is None:
            raise PlannerError(f"Compute rule {self.rule} needs the two parts of the model: give s, h, B, L and t.")
        return self.parts

    @property
    def proportional(self) -> bool:
        """Whether C is a constant times ``N * D``. The frontier of some laws then has a closed form."""
        return self.rule in ("6ND", "6npND", "zetaND", "per-epoch")

    @property
    def per_pair(self) -> float:
        """FLOPs per parameter and sample: k in ``C = k * N * D``. Raises PlannerError for a rule of another form."""
        if not self.proportional:
            raise PlannerError(f"{self.text} does not give a fixed number of FLOPs per parameter and sample.")
        tokens = self.n_p if self.rule in ("6npND", "per-epoch") else 1.0
        return self.zeta * tokens * self.epochs

    @property
    def _form(self) -> Form | None:
        """The closed form of the rule; None for the rule "formula"."""
        match self.rule:
            case "formula":
                return None
            case "powers":
                return Powers(self.zeta, self.a, self.b)
            case "step":
                return self._two_part.stage1
            case "stage2":
                return self._two_part.stage2
            case _:
                return Powers(self.per_pair)

    def flops(
        self, N: ArrayLike, D: ArrayLike, columns: Mapping[str, ArrayLike] | None = None, ids: Ints | None = None
    ) -> Floats:
        """Return C in FLOPs, broadcast over ``N`` and ``D``.

        ``columns`` contains the other columns that a formula may read, by name. If epochs and U are not among them, the
        formula is evaluated for one pass: epochs = 1, U = D. Errors name a row by its id in ``ids`` (n,).
        """
        N, D = np.asarray(N, float), np.asarray(D, float)
        if (form := self._form) is not None:
            return form.flops(N, D)
        return (
            np.broadcast_to(self.parsed(self._columns(N, D, columns), ids), np.broadcast_shapes(N.shape, D.shape)) + 0.0
        )

    def flops_anywhere(self, N: ArrayLike, D: ArrayLike) -> Floats:
        """Return C for one pass, as ``flops`` does, but NaN or infinity if the formula overflows or is not defined."""
        N, D = np.asarray(N, float), np.asarray(D, float)
        if (form := self._form) is not None:
            return form.flops(N, D)
        return self.parsed.unchecked(self._columns(N, D))

    def _columns(self, N: Floats, D: Floats, others: Mapping[str, ArrayLike] | None = None) -> dict[str, ArrayLike]:
        return {"epochs": 1.0, "U": D, **(others or {}), "N": N, "D": D, "n_p": self.n_p}

    def samples(self, C: ArrayLike, N: ArrayLike, columns: Mapping[str, ArrayLike] | None = None) -> Floats:
        """Return the D for which a model of ``N`` parameters uses exactly ``C`` FLOPs; ``columns`` as for ``flops``.

        A formula is solved for D. The result is NaN if there is no solution with D between 1e-9 and 1e40.
        """
        C, N = np.asarray(C, float), np.asarray(N, float)
        if (form := self._form) is not None:
            return form.samples(C, N)
        formula = self.parsed
        others = {k: v for k, v in (columns or {}).items() if k in formula.names - {"N", "D", "n_p"}}

        if affine(formula, frozenset({"D", "U"} - set(others))):
            none, many = (formula.unchecked(self._columns(N, np.asarray(D), others)) for D in (0.0, MANY_SAMPLES))
            with np.errstate(all="ignore"):
                found = (C - none) / (many - none) * MANY_SAMPLES
                return np.where((found >= FEWEST_SAMPLES) & (found <= MOST_SAMPLES), found, np.nan)

        def excess(x: Floats, C: Floats, N: Floats, *given: Floats) -> Floats:
            named = dict(zip(others, given, strict=True))
            return np.log(formula.unchecked(self._columns(N, np.exp(x), named)) / C)

        low, high = np.log(FEWEST_SAMPLES), np.log(MOST_SAMPLES)
        return np.exp(increasing_root(excess, low, high, C, N, *others.values()))

    @property
    def text(self) -> str:
        """The rule as text, to be displayed with a number: ``C = 6 N D``."""
        match self.rule:
            case "6ND":
                return "C = 6 N D"
            case "6npND":
                return f"C = 6 n_p N D with n_p = {self.n_p:g}"
            case "zetaND":
                return f"C = {self.zeta:.3g} N D"
            case "per-epoch":
                tokens = f" n_p N U x epochs with n_p = {self.n_p:g}," if self.n_p != 1 else " N U x epochs with"
                return f"C = {self.zeta:.3g}{tokens} epochs = {self.epochs:g} and D = U, the number of unique samples"
            case "powers":
                return f"C = {self.zeta:.3g} N^{self.a:.3g} D^{self.b:.3g}"
            case "formula":
                n_p = f" with n_p = {self.n_p:g}" if "n_p" in self.parsed.names else ""
                return f"C = {self.formula.strip()}{n_p}"
        parts = self._two_part
        given = f"p_e = {100 * parts.s:.3g} % of N"
        batch = f"B = {parts.B:g}, L = {parts.L:g}, h = {parts.h:.4g}"
        if self.rule == "step":
            return f"C = 6 D (t p_e + p + 3 B L h) with {given}, t = {parts.t:g}, {batch}"
        own = "(counted in Isoplan's trainer, not published)"
        return f"C = D (6 p + 4 (B L + K) h) with {given}, {batch}, K = {parts.K:g} {own}"

    @model_serializer
    def _stored(self) -> dict[str, Any]:
        """Return the fields to store. ``formula`` is always included, so stored hashes of mappings do not change."""
        return {"rule": self.rule, "n_p": self.n_p, "formula": self.formula} | self._read

    def __repr_args__(self) -> Iterable[tuple[str, Any]]:
        """Return the stored fields. The hash of a published law is computed from this representation."""
        return self._stored().items()

    def to_json(self) -> dict[str, Any]:
        """Return the rule as in the JSON of fits and plans: its name, n_p and the fields that it uses.

        ``read_rule`` is the inverse.
        """
        return {"rule": self.rule, "n_p": self.n_p} | self._read

    @property
    def _read(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in READS[self.rule]}
        return {name: x.model_dump() if isinstance(x, TwoPart) else x for name, x in values.items()}


def compute_rule(name: str, n_p: float = 1.0, formula: str = "") -> ComputeRule:
    """Return the rule called ``name``; raises PlannerError for an unknown name, a bad ``n_p`` or a bad formula."""
    if name not in NAMED:
        raise PlannerError(f"Compute rule {name!r} is unknown: use {', '.join(NAMED[:-1])} or {NAMED[-1]}.")
    if not (np.isfinite(n_p) and n_p > 0):
        raise PlannerError(f"n_p = {n_p:g} is not a number of tokens per sample: use a positive number.")
    return ComputeRule(rule=name, n_p=n_p, formula=formula)  # type: ignore[arg-type]


def read_rule(raw: Mapping[str, Any]) -> ComputeRule:
    """Return the rule that is stored in the JSON of a fit or a plan; raises PlannerError if it is not valid."""
    name, n_p = raw.get("rule", "6ND"), raw.get("n_p", 1.0)
    if name not in READS:
        raise PlannerError(f"Compute rule {name!r} is unknown: use {', '.join(list(READS)[:-1])} or formula.")
    if not (isinstance(n_p, int | float) and math.isfinite(n_p) and n_p > 0):
        raise PlannerError(f"n_p = {n_p} is not a number of tokens per sample: use a positive number.")
    values = {key: raw[key] for key in ("rule", "n_p", *READS[name]) if raw.get(key) is not None}
    try:
        return ComputeRule.model_validate(values)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise PlannerError(f"Compute rule {name} cannot be read: {where} is missing or not a number.") from None


def check_zeta(zeta: float) -> None:
    """Raise PlannerError unless ``zeta`` is a plausible number of FLOPs per parameter and sample."""
    if not LEAST_ZETA <= zeta <= MOST_ZETA:
        raise PlannerError(
            f"zeta = {zeta:.3g} FLOPs per parameter and sample is out of range (a dense model needs about 6 FLOPs "
            "per parameter and token): give C in FLOPs, N in parameters and D in samples."
        )
