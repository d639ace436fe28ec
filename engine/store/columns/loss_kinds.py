"""Kind, unit and data of the loss of a table, from the name of its column and the accepted conversion."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.formula import parse_formula
from isoplan.engine.schema import Roles
from isoplan.engine.store.columns.column import AS_IS, read_conversion
from isoplan.engine.store.columns.names import ERRORS, LARGER, LOSSES, loss_words, measured_on
from isoplan.engine.store.columns.unit_names import in_percent, is_bits

_PERPLEXITY = frozenset({"perplexity", "ppl"})
_SQUARED = frozenset({"mse", "rmse", "squared", "square"})
_ROOT = frozenset({"rmse", "root"})
_LOG = frozenset({"log", "ln"})
_ABSOLUTE = frozenset({"mae", "absolute"})
_ENTROPY = (LOSSES - {"loss"}) | {"entropy"}


@dataclass(frozen=True)
class LossKind:
    """What a loss measures. A text is empty if the name of the column does not show the property.

    ``kind`` is a phrase such as "a cross-entropy". ``unit`` is "in bits", "in percent" or "a perplexity" if the loss is
    not converted to nats or to a fraction. ``data`` is "held-out" or "training".
    """

    kind: str = ""
    unit: str = ""
    data: str = ""


def loss_kind(roles: Roles, low: float, high: float) -> LossKind:
    """Return the kind of the loss of a table with the mapping ``roles`` and with losses from ``low`` to ``high``.

    If a formula computes the loss, all texts are empty, because the computation may change the kind and the unit. A
    formula that is only the name of a column is treated as this column.
    """
    name = _column(roles)
    converted = read_conversion(roles.conversions.get(name, AS_IS), name).unit
    unit = _unit(name, low, high) if converted in ("", AS_IS) else ""
    kind = "a cross-entropy" if converted in ("bits", "perplexity") else _kind(name)
    return LossKind(kind, unit, measured_on(name))


def _column(roles: Roles) -> str:
    """Return the column of the loss; empty if a formula other than the name of a column computes the loss."""
    formula = roles.derived.get("loss")
    if formula is None:
        return roles.loss or ""
    names = parse_formula(formula).names
    return next((name for name in names if formula.strip() in (name, f'"{name}"')), "")


def _unit(name: str, low: float, high: float) -> str:
    """Return the unit of the losses ``low`` to ``high``, if no conversion is applied to the column ``name``."""
    own = loss_words(name)
    if is_bits(name):
        return "in bits"
    if own & _PERPLEXITY and not own & _LOG:
        return "a perplexity"
    percent = bool(own & {"percent", "pct"}) or "%" in name or in_percent(name, low, high)
    return "in percent" if percent else ""


def _kind(name: str) -> str:
    own = loss_words(name)
    if own & _SQUARED:
        return "a root mean squared error" if own & _ROOT else "a mean squared error"
    if own & _ABSOLUTE:
        return "a mean absolute error"
    if own & _ENTROPY or is_bits(name) or (own & _PERPLEXITY and own & _LOG):
        return "a cross-entropy"
    if own & ERRORS:
        return "an error rate"
    return "a score" if own & LARGER and "loss" not in own else ""
