"""The answer to "Simulate or repeat" in words, tables and charts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import Row
from isoplan.engine.planning.questions.answer import Answer, Part, tabulate
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.repeat.answer import SimulateOrRepeat, simulate_or_repeat
from isoplan.engine.planning.repeat.charts import chart_price
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.document import document
from isoplan.engine.planning.repeat.factor import fit_factor, stated
from isoplan.engine.planning.repeat.few_epochs import Between, between
from isoplan.engine.planning.repeat.text import as_text, between_text, rows, worth_text
from isoplan.engine.planning.repeat.worth import Worth, worth_of
from isoplan.engine.quantities import power10

UNPRICED = (
    "Enter a device, its price per hour and the price of a simulated sample under Machine and prices to compare the "
    "costs of both ways."
)
NO_FILE = {
    "terminal": "This format requires prices. Give --sample-price, and --flop-price or --device and --hour-price.",
    "python": "Answer: a file states what both ways cost. Give sample_price, and flop_price or a device.",
}


@dataclass(frozen=True, eq=False, repr=False)
class Repeat(Answer):
    """Two ways to a loss in ``result``, the cheapest plan between them, and the worth of the available samples."""

    between: Between | None = None
    worth: Worth | None = None


def answer(one_pass: Fit, given: Given) -> Repeat:
    """Return both ways to the requested loss. Raises PlannerError as ``simulate_or_repeat`` does."""
    fits, target, priced = given.fits, given.loss.value, given.costs is not None
    repeated, surface = fits["repeated"], fits.get("surface")
    costs: SampleCosts = given.costs or SampleCosts(1.0, 1.0, have=given.values["have"])
    curves = given.curves
    kappa = fit_factor(one_pass, curves, given.rule) if curves is not None else stated(given.values["kappa"])
    found = simulate_or_repeat(one_pass, repeated, target, costs, kappa, fits.get("threshold"), given.rule)
    few = between(surface, target, costs, given.rule) if surface is not None and priced and found.priced else None
    worth = worth_of(one_pass, repeated, costs.have) if costs.have else None
    remarks = [between_text(few, costs.currency)] if few is not None else []
    remarks += [worth_text(worth, found.one_pass.unique.unit)] if worth is not None else []
    return Repeat(
        found,
        "\n\n".join([as_text(found, priced), *remarks]),
        document(found, kappa, given.files, given.group, few, worth) if priced else None,
        found.warnings,
        _name(found),
        tuple(remarks),
        parts=_parts(found, priced),
        hint="" if priced else UNPRICED,
        no_file=NO_FILE.get(given.place, ""),
        between=few,
        worth=worth,
    )


def _name(found: SimulateOrRepeat) -> str:
    price = found.costs.sample
    shown = f"{price:.3g}" if 1e-3 <= price < 1e3 else power10(price)
    return f"{found.y} {found.target:.4g} at {shown} {found.costs.currency} a sample"


def _parts(found: SimulateOrRepeat, priced: bool) -> tuple[Part, ...]:
    """Return the numbers of both ways, and their costs against the price of a sample; empty if not supported."""
    body = [_brief(row, found) for row in rows(found, priced)]
    if not body:
        return ()
    costs = priced and found.cheaper is not None and found.cheaper.total.value is not None
    return (Part(tabulate(body, "Numbers of both ways."), partial(chart_price, found) if costs else None),)


def _brief(row: Row, found: SimulateOrRepeat) -> Row:
    """Return the row without the reason for missing intervals, which the warnings state once."""
    missing = "" if found.p_reach is not None else found.one_pass.C.note
    return replace(row, note=", ".join(part for part in row.note.split(", ") if part != missing))
