"""Comparison of one pass over many samples (simulate) and few repeated samples (repeat) at one target loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from isoplan.answers import Repeat
from isoplan.engine.errors import PlannerError
from isoplan.measured import check_runs, choose_rule
from isoplan.options import Amount, as_text, check_options, file_name, read_number, single
from isoplan.scenario import RepeatPrices, texts_of

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.fitting import Fit, GroupedFit
    from isoplan.engine.planning.repeat import Factor, SampleCosts
    from isoplan.engine.schema import Curves, Runs
    from isoplan.rules import Rule
    from isoplan.tables import Table


def repeat(
    one_pass: Fit | GroupedFit,
    repeated: Fit | GroupedFit,
    *,
    target_loss: Amount,
    kappa: Amount | None = None,
    curves: Curves | Table | None = None,
    runs: Runs | Table | None = None,
    map_curves: Mapping[str, str] | None = None,
    threshold: Fit | None = None,
    surface: Fit | None = None,
    have: Amount = 0,
    rule: Rule = "",
    n_p: Amount = "",
    **prices: Unpack[RepeatPrices],
) -> Repeat:
    """Compare simulating more samples with repeating few of them, at one target loss.

    Parameters
    ----------
    one_pass, repeated : Fit
        A fit of chinchilla to runs of one pass, and one of repetition to early stops.
    target_loss, have : number
        The target loss; the number of existing samples.
    kappa, curves, runs, map_curves : number, tables, mapping
        Ratio of the compute of repetition to that of one pass; or training curves to compute it from, with their
        runs, and their columns by role.
    threshold, surface, rule, n_p
        Fits of threshold (for N and epochs) and of data-constrained (for few epochs); as for ``isoplan.plan``.
    **prices : number or str
        flop_price, or device, hour_price, utilisation and precision; sample_price, or sample_seconds and cpu_price;
        currency. Without prices the answer has only sizes.

    Raises
    ------
    PlannerError
        An option is wrong or missing, or the laws do not fit together.
    """
    from isoplan.engine.amounts import SAMPLES, parse_amount
    from isoplan.engine.planning import repeat as engine
    from isoplan.engine.planning.repeat.document import Files, document

    check_options(prices, RepeatPrices.__annotations__, repeat)
    once, again = single(one_pass, "one_pass"), single(repeated, "repeated")
    stock, target = parse_amount(as_text(have), "option have", SAMPLES), read_number(target_loss, "target_loss")
    costs = _read_costs(prices, stock)
    if curves is None:
        check_runs(runs, rule)
    used, priced = choose_rule(rule, n_p, runs, once), costs or engine.SampleCosts(1.0, 1.0, have=stock)
    factor = _read_factor(kappa, curves, runs, map_curves or {}, once, used)
    answer = engine.simulate_or_repeat(once, again, target, priced, factor, threshold, used)
    few = engine.between(surface, target, priced, used) if surface and costs and answer.priced else None
    worth = engine.worth_of(once, again, stock) if stock else None
    texts = [engine.as_text(answer) if costs else engine.unpriced_text(answer)]
    texts += [engine.between_text(few, priced.currency)] if few else []
    texts += [engine.worth_text(worth, answer.one_pass.unique.unit)] if worth else []
    first, second, third, fourth = (file_name(one) if one else "" for one in (once, again, threshold, surface))
    written = document(answer, factor, Files(first, second, "", third, fourth), few, worth) if costs else None
    return Repeat(answer, "\n\n".join(texts), written, answer.warnings, between=few, worth=worth)


def _read_costs(prices: RepeatPrices, have: float) -> SampleCosts | None:
    """Return the prices of a sample and a FLOP; None without any."""
    from isoplan.engine.amounts import money, parse_amount
    from isoplan.engine.planning.repeat import SampleCosts, costs_of
    from isoplan.engine.planning.scenario.fields import EUR
    from isoplan.engine.planning.scenario.prices import check_currency
    from isoplan.engine.planning.scenario.typed_prices import read_prices, read_simulation

    texts = texts_of(prices)
    options = {name: text for name, text in texts.items() if name != "currency" and text}
    if not options:
        return None
    currency = check_currency(texts.get("currency") or EUR)
    machine = [name for name in ("device", "hour_price", "utilisation", "precision") if name in options]
    if ("flop_price" in options) == bool(machine):
        raise PlannerError("Option flop_price: give either the price of a FLOP, or device and hour_price.")
    if "device" in options and "hour_price" not in options:
        raise PlannerError("Option hour_price: the price of an hour of the device is missing. Add it, as in 3.")
    if not machine:
        sample = read_simulation({**options, "currency": currency}, "python")
        if sample is None or sample.price is None:
            raise PlannerError("Option sample_price: the price of a simulated sample is missing. Add it.")
        flop = parse_amount(options["flop_price"], "option flop_price", money(currency, "flop"))
        return SampleCosts(sample.price, flop, currency, have)
    read = read_prices({**options, "currency": currency}, "python")
    assert read is not None  # at least one option of the machine is given
    return costs_of(read, have)


def _read_factor(
    kappa: Amount | None,
    curves: Curves | Table | None,
    runs: Runs | Table | None,
    roles: Mapping[str, str],
    one_pass: Fit,
    rule: ComputeRule | None,
) -> Factor:
    """Return kappa as given, or computed from training curves under the compute rule of the answer."""
    from isoplan.engine.planning.repeat import fit_factor, stated
    from isoplan.engine.schema import OVERFITS, Curves, Runs
    from isoplan.tables import read_curves, read_table

    if (kappa is None) == (curves is None):
        raise PlannerError("Options kappa, curves: give exactly one of them.")
    if curves is None:
        return stated(read_number(kappa, "kappa"))
    if isinstance(curves, Curves):
        return fit_factor(one_pass, curves, rule)
    if runs is None:
        raise PlannerError("Option runs: curves need the table of their runs. Add it.")
    if not isinstance(runs, Runs):
        runs = read_table(runs, {}, compute=rule or one_pass.compute, offered=(OVERFITS,))
    return fit_factor(one_pass, read_curves(curves, runs, roles), rule)
