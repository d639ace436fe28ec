"""Section of docs/jets_laws.md on training that repeats the jets."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from benchmarks.jets_laws import checks, laws
from benchmarks.jets_laws.words import printed, still_open, symbol, wrapped
from benchmarks.report import between, pair, table
from isoplan.data.catalogue import path, records
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import read_fit
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.repeat.floors import Laws, together
from isoplan.engine.quantities import count

PAPER_LAMBDA = 0.47
JETS = (1e3, 1e4, 1e5, 1e6)


def amplification(repeated: Values, one_pass: Values, D: Floats) -> Floats:
    """Return omega(D), which is the value of repeated samples relative to samples that are seen once.

    ``D`` unique samples that are repeated until the loss stops falling are worth ``omega * D`` samples seen once.

    ``repeated`` contains B_rep and beta_rep, ``one_pass`` contains B and beta of the law chinchilla. Both laws must
    have the same floor. At infinite N, equal losses give omega = (B / B_rep)^(1/beta) D^(beta_rep/beta - 1) (jets, eq.
    5). This is valid for models above the overfitting threshold.
    """
    beta = one_pass["beta"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_gain = (np.log(one_pass["B"]) - np.log(repeated["B_rep"])) / beta
        return np.exp(log_gain + (repeated["beta_rep"] / beta - 1) * np.log(np.asarray(D, float)))


def repetition() -> Iterator[str]:
    if not laws.there("repeated"):
        return
    cells = laws.rows("repeated")
    made, runs = laws.repeated()
    once = laws.one_pass()[0]
    both = together(once, made)
    yield f"""
## The same jets again and again

{len(cells)} cells repeat their jets until the validation loss increases. The best pass is used.{
        still_open(laws.asked("repeated") - len(cells))
    }
The law L_inf + B_rep/D^β_rep is fitted to the losses of the {len(runs)} cells whose models mostly overfit (N from
{count(runs["N"].min())}). The table compares it with the law of JetClass:

![Early-stopped loss against the jets that are repeated](images/jets_law_repeated.png)
"""
    paper = {r["parameter"]: r for r in records("papers/jets/table2_repetition.csv") if r["particles"] == "128"}
    joint = _joint(both)
    yield from table(
        ("", "our jets, alone", "our jets, one floor with one pass", "JetClass (Table 2)"),
        [
            (symbol(name), pair(*laws.interval(made, name)), pair(*joint[name]), printed(paper[name]))
            for name in ("L_inf", "B_rep", "beta_rep")
        ],
    )
    flat = next((w.text for w in made.warnings if w.code == "second-optimum"), "")
    yield (
        "\n" + wrapped(f"The fit to the repeated cells alone has a flat optimum: do not use its numbers. {flat}") + "\n"
    )
    yield from _omega(both, runs["U"].max())
    yield from _kappa(once)
    yield from _threshold()


def _joint(both: Laws) -> dict[str, tuple[float, Interval | None]]:
    """Return the parameters of the law for repeated training in the joint fit, by name, each with its 68 % interval."""
    names = ("L_inf", "B_rep", "beta_rep")
    found = {n: (float(both.best[n]), both.how.interval(float(both.best[n]), both.draws[n], 0.68)) for n in names}
    return found | ({"L_inf": (both.floor.value, both.floor.ci68)} if both.floor else {})


def _omega(both: Laws, largest: float) -> Iterator[str]:
    """Yield the lines on omega(D) (the value of repeated samples) from the joint fit and from the paper."""
    why = f" ({both.apart})" if both.apart else ""
    fits = "One floor fits both tables" if both.floor else "One floor is not fitted to both tables"
    yield wrapped(
        f"{fits}{why}: the sum of both objectives is least at E = L_inf = {float(both.best['E']):.3g}. Alone, E is "
        f"{both.alone[0]:.3g} and L_inf is {both.alone[1]:.3g}. `isoplan repeat` uses the same joint fit. ω(D) "
        "follows from this fit. One pass of an unlimited model needs ω D jets to reach the loss of D repeated jets "
        "(eq. 5):"
    )
    yield ""
    lines = []
    for D in JETS:
        value = float(amplification(both.best, both.best, np.asarray(D)))
        draws = amplification(both.draws, both.draws, np.asarray(D))
        lines.append(_around(value, both.how.interval(value, draws, 0.68)))
    yield from table(
        ("D", *(count(D) + ("" if D <= largest else "*") for D in JETS)),
        [("ω, our jets", *lines), ("ω, JetClass", *(f"{_printed_omega():.2f}" for _ in JETS))],
    )
    yield """
* extrapolated: more jets than in any cell with repeated jets. The ω of the paper follows from its Tables 1 and 2. It
is the same at every D, because β_rep and β of the paper are equal. The ω of these jets is larger and grows with D,
because β_rep
exceeds β."""


def _around(value: float, ends: Interval | None) -> str:
    """Return a number and its interval as text. The interval is widened if it does not contain the number."""
    return pair(value, ends and (min(ends[0], value), max(ends[1], value)))


def _printed_omega() -> float:
    one, rep = (_card(name) for name in ("jets_table1", "jets_table2_21x128"))
    return float(amplification(rep.values, one.values, np.asarray(1e6)))


def _card(name: str) -> Fit:
    return read_fit(json.loads(path(f"cards/{name}.json").read_text("utf-8")))


def _kappa(once: Fit) -> Iterator[str]:
    """Yield the lines on kappa, the compute of repeated training relative to one-pass training at the same loss."""
    smooth, raw = checks.kappa(0.6), checks.kappa(0.0)
    ends = once.resampling.interval(smooth.value, smooth.draws, 0.68)
    yield "\n" + wrapped(
        "κ is the compute of repeated training divided by the compute of the compute-optimal single pass with the same "
        f"loss. The values are geometric means over {smooth.n} numbers of jets, each with the smallest model that "
        f"overfits: {_around(smooth.value, ends)} with curves smoothed as in `isoplan repeat`, and {raw.value:.2g} at "
        "the least loss of the raw curves. The paper gives about 10 (Fig. 2b)."
    )


def _threshold() -> Iterator[str]:
    cells = {(int(row["width"]), int(row["U"])): row for row in laws.rows("repeated")}
    widths, jets = (sorted({key[k] for key in cells}) for k in (0, 1))
    over, runs = laws.threshold()
    lam, ends = laws.interval(over, "lambda")
    wrong = int(np.sum((runs["N"] > over.predict({"D": runs["D"]})) != (runs["overfits"] > 0)))
    yield """
### Models that overfit

The minimum loss of each cell, and in brackets the increase from this minimum to the end of training (medians of up to
five evaluations):
"""
    yield from table(
        ("width d", *(f"{count(float(U))} jets" for U in jets)),
        [(str(d), *(_risen(cells[d, U]) if (d, U) in cells else "not trained" for U in jets)) for d in widths],
    )
    if ends is not None and ends[0] > 0:
        said = f"Here the exponent is {lam:.2f} ({between(ends)})."
    else:
        said = f"""This grid does not determine the exponent: no power of D
separates the cells that overfit from the others, and {wrong} of {len(runs)} cells lie on the wrong side of the best
line. The learning rate is constant and large, so the loss varies by some per cent from pass to pass, and training
ends soon after the best pass. An increase of one per cent is small compared with this variation. The table still
shows three facts. The smallest width hardly overfits, and its loss stops falling with more jets. The other widths
overfit at nearly every
number of jets, and wider models overfit earlier. With few jets, the widest models are not the best."""
    yield f"""
The paper's models overfit from N ∝ D^{PAPER_LAMBDA} on. {said}"""


def _risen(row: dict[str, str]) -> str:
    return f"{float(row['loss']):.3f} (+{float(row['rise']):.1%})"
