"""The page Plan: questions (with limits, prices, metrics or rules), answers, and links that reproduce the answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.planning import rules
from isoplan.app.views.planning.saved import link
from isoplan.app.views.widgets.parts import escape_markdown, readable
from isoplan.app.views.widgets.saved_items import files
from isoplan.engine.costs import ComputeRule, TwoPart, compute_rule
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import as_document, to_json, unknown_time, worth_sentence
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.saving import save_against
from isoplan.engine.planning.plan.start import largest_inside
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.plan.variations import vary
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from isoplan.engine.schema import Roles, Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, grid, said, told
from tests.progress import LAST

H100 = Machine(find_device("H100"), 8, 0.1, 2.5)
PRICES = Prices(H100, Simulation(1e-4, 0.5, 4000.0), Inference(1e9, 3.0), grid=300.0, pue=1.2)
PRICED = {
    **{
        "device": "H100",
        "devices": "8",
        "utilisation": "10%",
        "hour_price": "2.5",
        "grid": "300",
        "pue": "1.2",
        "sample_price": "1e-4",
    },
    **{"sample_seconds": "0.5", "sample_bytes": "4000", "queries": "1e9", "query_tokens": "3"},
}
STEP = ComputeRule(rule="step", parts=TwoPart(s=0.02, h=188, B=512))


def shown(at: AppTest) -> Plan:
    """Save the plan that the page shows, and return the saved plan."""
    db = _database()
    before = {p.hash for p in results.plans(db)}
    next(b for b in at.button if b.label == "Save the plan").click().run()
    assert told(at) == ""
    (key,) = {p.hash for p in results.plans(db)} - before
    return results.plan(db, key)


def _database() -> Database:
    from isoplan.app import workspace

    return workspace.current()


def same(one: Plan, other: Plan) -> bool:
    return json.dumps(to_json(one), sort_keys=True) == json.dumps(to_json(other), sort_keys=True)


def test_a_budget_within_limits_is_the_engines_answer(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="3e17", limits=["unique samples", "hours"], max_unique="1e9", max_hours="1",
                   maps=r_top, **PRICED)  # fmt: skip
    law, mapped = results.fit(demo, jets), results.fit(demo, r_top)
    limits = Limits(unique=1e9, hours=1.0)
    expected = plan_budget(law, 3e17, limits=limits, prices=PRICES, maps=(through(law, mapped),))
    assert same(shown(at), expected)
    page = "\n".join(str(m.value) for m in at.markdown)
    for worth in expected.worth:
        assert readable(worth_sentence(expected, worth)) in page
    short, whole, bill = ([str(x) for x in one.value.to_numpy().ravel()] for one in at.table)
    assert "Total, money \\[EUR\\]" in bill
    assert "R_top" in short
    assert "R_top" in whole
    others = [line.label for line in vary(law, expected)]
    assert others == ["Half of the budget", "Ten times the budget", "10 % more unique samples"]
    tables_of_page = "".join(str(getattr(one, "value", "")) for one in at.get("html"))
    assert all(f"<td>{label}</td>" in tables_of_page for label in ("This plan", *others))


def test_a_target_in_a_metric_is_the_engines_answer(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="4000", map=r_top, limits="unique samples", max_unique="5e7")
    law, mapped = results.fit(demo, jets), results.fit(demo, r_top)
    expected = plan_target(law, 4000.0, limits=Limits(unique=5e7), map=through(law, mapped))
    assert same(shown(at), expected)
    assert "To reach R_top 4000" in str(at.header[0].value)


def test_an_unknown_time_has_its_reason_in_the_answer(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e14", device="H100", hour_price="2.5", utilisation="50 %")
    reason = unknown_time(shown(at))
    assert reason.startswith("Time and money on 1 x H100 are not known: a model of ")
    assert reason.endswith("give the share that you measured.")
    assert [str(m.value).count(readable(reason)) for m in at.markdown].count(1) == 1


EVERY: dict[str, dict[str, Any]] = {
    "plain": {"budget": "1e15"},
    "typed": {"budget": "0.3 PFLOP/s-days"},
    "limits": {
        "budget": "1e17",
        "limits": ["unique samples", "parameters", "hours", "memory", "money"],
        **{"max_unique": "2.5e8", "max_params": "1.3M", "max_hours": "3.7", "max_memory": "0.3", "max_money": "1e6"},
        **PRICED,
        "utilisation": "35 %",
        "precision": "fp8",
        "currency": "USD",
        "power": "650",
    },
    "cpu time": {"budget": "1e16", "device": "V100", "sample_seconds": "0.7", "cpu_price": "0.03", "hour_price": "1"},
    "rule": {"budget": "1e15", "rule": "6 N D"},
    "per epoch": {"budget": "1e15", "rule": "per epoch", "rule_n_p": "40", "rule_epochs": "4"},
    "powers": {"budget": "1e15", "rule": "zeta N^a D^b", "rule_zeta": "200", "rule_a": "1.05", "rule_b": "0.95"},
    "stage 2": {"budget": "1e15", "second": "stage 2", "second_K": "1e5"},
    "second rule": {"budget": "1e15", "second": "step formula", "second_B": "256"},
    "no second rule": {"budget": "1e15", "rule": "zeta N D", "rule_zeta": "240", "second": "none"},
    "formula": {"budget": "1e15", "rule": "typed formula", "rule_formula": "6*n_p*N*D + 1e3*N", "rule_n_p": "40"},
    "target": {"ask": "Target", "target": "0.6"},
    "unsure": {"ask": "Target", "target": "0.39"},
    "metric": {"ask": "Target", "target": "2000", "map": "R_top"},
    "metrics": {"budget": "1e16", "maps": "R_top"},
    "money": {"budget": "0.3 EUR", "device": "RTX4090", "hour_price": "0.5", "utilisation": "1 %"},
    "compared": {"budget": "1e14", "our_params": "20k", "our_samples": "3M"},
}


@pytest.mark.parametrize("case", EVERY)
def test_the_link_of_a_saved_plan_asks_exactly_the_same(
    jets: str, r_top: str, demo: Database, open_page: Open, case: str
) -> None:
    query = {k: r_top if v == "R_top" else v for k, v in EVERY[case].items()}
    plan = shown(open_page("plan", fit=jets, **query))
    (saved,) = results.plans(demo)
    address = link(demo, plan)
    saved_items.delete(demo, "plans", saved.hash)
    page = open_page("plan", **address)
    assert "The link asks for" not in said(page)
    again = shown(page)
    assert same(again, plan)
    assert [p.hash for p in results.plans(demo)] == [saved.hash]


def test_a_stated_plan_is_compared_below_the_answer(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e14", our_params="20k", our_samples="3 M", **PRICED)
    law = results.fit(demo, jets)
    plan = plan_budget(law, 1e14, prices=PRICES)
    saving = save_against(law, plan, 2e4, 3e6)
    assert any(readable(saving.sentence) in str(m.value) for m in at.markdown)
    made = shown(at)
    assert made.saving is not None
    assert made.saving.sentence == saving.sentence
    at.text_input(key="our_samples").set_value("").run()
    assert told(at) == "Give the number of samples of your plan with the number of parameters of your plan."
    assert "train" in str(at.header[0].value)


def test_the_page_opens_on_the_demo_inside_its_runs(demo: Database, open_page: Open) -> None:
    at = open_page("plan")
    (fitted,) = results.fits(demo)
    law = results.fit(demo, fitted.hash)
    C = largest_inside(law)
    assert at.text_input(key="budget").value == f"{C:.3g}".replace("e+", "e")
    assert str(at.header[0].value) == readable(plan_budget(law, C).sentence)
    assert any("green-badge" in str(m.value) and "inside the runs" in str(m.value) for m in at.markdown)
    at.text_input(key="budget").set_value("3e13").run()
    assert any("orange-badge" in str(m.value) and "extrapolated" in str(m.value) for m in at.markdown)
    at.text_input(key="budget").set_value("1e22").run()
    assert any("red-badge" in str(m.value) and "not supported" in str(m.value) for m in at.markdown)


def test_a_table_without_a_law_is_fitted_on_the_spot(demo: Database, open_page: Open) -> None:
    mine = tables.add(demo, grid(), "grid.csv")
    at = open_page("plan", table=mine.id)
    assert "grid.csv has no law yet. Suggested: Loss over size and data (Chinchilla)" in said(at).replace("\\", "")
    next(b for b in at.button if b.label == "Fit law").click().run()
    (made,) = results.fits(demo)
    assert made.table_id == mine.id
    assert told(at) == ""
    assert str(at.header[0].value).startswith("With ")


def test_a_metric_without_a_map_is_fitted_on_the_spot(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target")
    assert at.selectbox(key="map_choice").options[:3] == ["loss", "R_Hbb", "R_Hcc"]
    at.selectbox(key="map_choice").set_value("metric R_top").run()
    assert told(at) == ""
    made = next(one for one in results.fits(demo) if one.hash != jets)
    law, mapped = results.fit(demo, jets), results.fit(demo, made.hash)
    assert (mapped.spec.law, mapped.spec.y, mapped.spec.axis) == ("metric-map", "R_top", "loss")
    assert (mapped.spec.bootstrap, mapped.spec.seed) == (law.spec.bootstrap, law.spec.seed)
    at.text_input(key="target").set_value("5000").run()
    assert "Best of your runs: 6993. 5000 is 29 % below that." in [str(c.value) for c in at.caption]
    assert same(shown(at), plan_target(law, 5000.0, map=through(law, mapped)))
    assert any(str(c.value).startswith("Form: exponential map. Error on the largest runs") for c in at.caption)
    assert at.query_params["map"] in (made.hash, [made.hash])


def test_rules_from_python_leave_a_link_that_opens(jets: str, demo: Database, open_page: Open) -> None:
    law = results.fit(demo, jets)
    powers = ComputeRule(rule="powers", zeta=240.0, a=1.0, b=1.0)
    for plan in (plan_budget(law, 1e15, powers), plan_budget(law, 1e15, other=STEP)):
        assert told(open_page("plan", **link(demo, plan))) == ""


def test_stage_2_carries_its_mark(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e15", rule="stage 2", rule_K="1e5")
    assert "(counted in Isoplan's trainer, not published)" in "\n".join(
        escape_markdown(str(c.value)) for c in at.caption
    ).replace("\\", "")


def test_a_rule_is_fitted_to_the_measured_compute_of_the_runs(jets: str, demo: Database) -> None:
    law = results.fit(demo, jets)
    N, D = (np.array(x, float) for x in ([1e5, 1e6, 1e7, 1e5, 1e7], [1e6, 1e6, 1e8, 1e8, 1e7]))
    roles = Roles(N="n", D="d", C="c")
    runs = Runs(np.arange(5), {"N": N, "D": D, "C": 7.5 * N**1.1 * D**0.9}, roles=roles, labels={})
    for option, rule in zip(rules.MEASURED, ("zetaND", "powers"), strict=True):
        used, _ = rules.read(law, runs, (option, {}), (rules.NONE, {}))
        assert used.rule == rule
    assert (used.zeta, used.a, used.b) == pytest.approx((7.5, 1.1, 0.9))
    assert rules.measured(runs)
    assert not rules.measured(replace(runs, roles=Roles(N="n", D="d")))
    assert not rules.measured(None)


def test_another_rule_says_what_the_plan_costs_by_the_fits_own(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e15", rule="6 N D")
    law = results.fit(demo, jets)
    expected = plan_budget(law, 1e15, compute_rule("6ND"), other=law.compute).restated
    assert expected is not None
    assert expected.factor.value == pytest.approx(40)
    text = "\n".join(str(c.value) for c in at.caption)
    assert "Compute is counted by C = 6 N D" in text
    assert escape_markdown(expected.sentence) in text


def test_not_reachable_is_never_a_number(jets: str, demo: Database, open_page: Open) -> None:
    """The page shows no table if only some resamples reach the target and their plans lie far beyond the runs.

    The target is between the floor of the best fit and the lowest floor of the resamples.
    """
    law = results.fit(demo, jets)
    hard = float((law.values["E"] + law.draws["E"].min()) / 2)
    at = open_page("plan", fit=jets, ask="Target", target=repr(hard), **PRICED)
    assert told(at).startswith("The plan lies too far beyond the runs to be an answer: ")
    assert len(at.table) == 0
    assert "does not reach" in str(at.header[0].value)


def test_every_export_holds_the_plan(jets: str, demo: Database) -> None:
    plan = plan_budget(results.fit(demo, jets), 1e17, limits=Limits(unique=1e8), prices=PRICES)
    made = {name: [write()] for name, (write, _, _) in files(as_document(plan)).items()}
    assert list(made) == ["JSON", "CSV", "Markdown", "LaTeX", "Python"]
    assert json.loads(made["JSON"][0]) == json.loads(json.dumps(to_json(plan)))
    assert repr(plan.allocation["N"].value) in made["CSV"][0]
    assert plan.sentence in made["Markdown"][0]
    assert "\\begin{tabular}" in made["LaTeX"][0]
    assert "limits=Limits(unique=100000000.0)" in made["Python"][0]


def sections() -> None:
    """Draw two questions of the page. Both questions use the same scenario of prices."""
    import streamlit as st

    from isoplan.app.views.planning import pricing
    from isoplan.engine.planning.scenario.typed_prices import read_prices

    asked = st.segmented_control("Question", ["One", "Other"], default="One", required=True, key="question")
    with st.container() if asked == "One" else st.expander("Another place"):
        st.session_state["read"] = read_prices(pricing.widgets(), "page")


def test_prices_are_one_scenario_for_all_questions() -> None:
    at = AppTest.from_function(sections, default_timeout=LAST).run()
    assert at.session_state["read"] is None
    at.selectbox(key="device").select("H100").run()
    at.number_input(key="devices").set_value(8).run()
    for name in ("hour_price", "sample_price", "sample_seconds", "sample_bytes", "queries", "query_tokens", "grid",
                 "utilisation"):  # fmt: skip
        at.text_input(key=name).set_value(PRICED[name]).run()
    at.text_input(key="pue").set_value("1.2").run()
    assert at.session_state["read"] == PRICES
    at.segmented_control(key="question").set_value("Other").run()
    assert not at.exception
    assert at.session_state["read"] == PRICES


def test_the_python_of_a_plan_reads_the_files_that_the_fit_page_gives(jets: str, r_top: str, demo: Database) -> None:
    law = results.fit(demo, jets)
    plan = plan_target(law, 4000.0, map=through(law, results.fit(demo, r_top)))
    text = as_document(plan).script
    assert f"fit-{jets}.json" in text
    assert f"fit-{r_top}.json" in text


def test_a_plan_that_is_saved_again_takes_its_new_name(jets: str, demo: Database) -> None:
    plan = plan_budget(results.fit(demo, jets), 1e16)
    key = results.save_plan(demo, plan, "First")
    assert results.save_plan(demo, plan, "Second") == key
    assert results.save_plan(demo, plan) == key
    assert [p.name for p in results.plans(demo)] == ["Second"]
