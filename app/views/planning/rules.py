"""Selection of the compute rules of a plan: formulas for the training FLOPs C. A second rule is for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.engine.costs import ComputeRule, compute_rule
from isoplan.engine.costs.measured import measured_rule, rule_of
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.quantities import as_typed, parse_number
from isoplan.engine.schema import Runs

OWN, AUTOMATIC, NONE = "of the fit", "the default second rule", "none"
TYPED = {
    "6 N D": "6ND",
    "6 n_p N D": "6npND",
    "zeta N D": "zetaND",
    "per epoch": "per-epoch",
    "zeta N^a D^b": "powers",
    "step formula": "step",
    "stage 2": "stage2",
    "typed formula": "formula",
}
"""Names of the compute rules, by the option on the page. The URL stores the option as the value of ``rule``."""
MEASURED = {"measured C, zeta N D": "zetaND", "measured C, zeta N^a D^b": "powers"}
"""Rules with coefficients that are fitted to the measured compute C of the runs, by the option on the page."""
STEP = {
    "s": ("Embedder share s", "2 %"),
    "h": ("Embedding width h", "188"),
    "B": ("Batch size B", "512"),
    "L": ("Sequence length L", "256"),
}
"""Input fields of the rules "step" and "stage2", which count the FLOPs of one training step: (label, initial value)."""
FIELDS: dict[str, dict[str, tuple[str, str]]] = {
    "6npND": {"n_p": ("Tokens per sample n_p", "40")},
    "zetaND": {"zeta": ("FLOPs per parameter and sample", "6")},
    "step": STEP | {"t": ("Context t of the embedder", "24")},
    "per-epoch": {
        "zeta": ("FLOPs per parameter and token", "6"),
        "n_p": ("Tokens per sample n_p", "1"),
        "epochs": ("Epochs", "10"),
    },
    "powers": {"zeta": ("Factor zeta", "6"), "a": ("Exponent of N", "1"), "b": ("Exponent of D", "1")},
    "stage2": STEP | {"K": ("Extra negatives K", "0")},
    "formula": {"formula": ("C in FLOPs from N and D", "6*N*D"), "n_p": ("Tokens per sample n_p", "1")},
}
"""Input fields of each rule: (label, initial value), by rule and by name of the coefficient."""


Rule = tuple[str, Mapping[str, str]]
"""A selected option of the page, and the texts of its input fields by name."""


def widgets(fit: Fit, runs: Runs | None) -> tuple[Rule, Rule]:
    """Show the selections of the first and second compute rule; return the two rules as typed.

    ``runs`` are the runs to which ``fit`` was fitted, or None if they are not available.
    """
    options = [*TYPED, *(MEASURED if measured(runs) else ())]
    with st.popover(_short(fit), icon=":material/calculate:", key="compute_rule", help="How compute is counted."):
        st.caption(f"The fit counts compute by {escape_markdown(fit.compute.text)}.")
        rule = _ask("Count compute by the rule", "rule", [OWN, *options])
        return rule, _ask("Also count compute by the rule", "second", [AUTOMATIC, NONE, *options])


def _short(fit: Fit) -> str:
    """Return the formula or option of the selected rule as a label that is short enough for a button."""
    option = st.session_state.get("rule") or st.query_params.get("rule") or OWN  # the widget of the rule is drawn later
    formula = fit.compute.text.partition(" with ")[0] if option == OWN else option
    return escape_markdown(formula if formula.startswith("C = ") or not formula[:1].isdigit() else f"C = {formula}")


def measured(runs: Runs | None) -> bool:
    """Return whether the runs have columns for N, D and measured C, so that a rule can be fitted to them."""
    return runs is not None and all(getattr(runs.roles, role) for role in ("N", "D", "C"))


def read(fit: Fit, runs: Runs | None, rule: Rule, second: Rule) -> tuple[ComputeRule, ComputeRule | None]:
    """Return the compute rule of the plan, and the second rule or None. Raises PlannerError if a rule is invalid."""
    used = fit.compute if rule[0] == OWN else _read(runs, *rule)
    if second[0] in (AUTOMATIC, NONE):
        return used, usual_other(fit, used) if second[0] == AUTOMATIC else None
    return used, _read(runs, *second)


def usual_other(fit: Fit, used: ComputeRule) -> ComputeRule | None:
    """Return the default second rule of a plan that counts compute by ``used``; None for no second rule.

    If ``used`` is not the rule of the fit, the result is the rule of the fit. Otherwise, the result is the rule
    C = 6 n_p N D (n_p: tokens per sample), or None if ``used`` already has this form.
    """
    if not sized(fit):
        return None
    if used != fit.compute:
        return fit.compute
    if used.rule in ("6ND", "6npND"):
        return None
    return ComputeRule(rule="6npND", n_p=used.n_p) if used.n_p != 1 else ComputeRule()


def sized(fit: Fit) -> bool:
    """Return whether a plan with the law has both N and D, so that a compute rule can be applied."""
    return fit.law.axis is None and fit.law.frontier is not None


def _ask(label: str, key: str, options: list[str]) -> Rule:
    option = str(st.selectbox(label, options, key=key, bind="query-params"))
    fields = FIELDS.get(TYPED.get(option, ""), {})
    return option, {
        name: st.text_input(text, start, key=f"{key}_{name}", bind="query-params", max_chars=200) or ""
        for name, (text, start) in fields.items()
    }


def _read(runs: Runs | None, option: str, typed: Mapping[str, str]) -> ComputeRule:
    if option in MEASURED:
        found = measured_rule(MEASURED[option], None if runs is None else runs.values)
        st.caption(f"{escape_markdown(found.text)}.")
        return found.rule
    name = TYPED[option]
    called = {key: label for key, (label, _) in FIELDS.get(name, {}).items()}
    if name == "6ND":
        return ComputeRule()
    if name == "formula":
        return compute_rule(name, parse_number(typed["n_p"], called["n_p"]), typed["formula"])
    return rule_of(name, typed, called)


def link(fit_rule: ComputeRule, used: ComputeRule) -> dict[str, str]:
    """Return the query parameters of a link that selects the rule ``used``.

    The result is empty for the default rule ``fit_rule``.
    """
    return {} if used == fit_rule else _fields("rule", used)


def second_link(usual: ComputeRule | None, other: ComputeRule | None) -> dict[str, str]:
    """Return the query parameters of a link that selects ``other`` as the second rule.

    The result is empty for the default rule ``usual``.
    """
    if other == usual:
        return {}
    return {"second": NONE} if other is None else _fields("second", other)


def _fields(key: str, rule: ComputeRule) -> dict[str, str]:
    option = next(option for option, name in TYPED.items() if name == rule.rule)
    values: dict[str, Any] = {**rule.to_json(), **(rule.parts.model_dump() if rule.parts else {})}
    texts = {name: values[name] for name in FIELDS.get(rule.rule, {})}
    return {key: option} | {
        f"{key}_{name}": value if isinstance(value, str) else as_typed(value) for name, value in texts.items()
    }
