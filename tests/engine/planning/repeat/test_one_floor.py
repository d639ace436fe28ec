"""Joint fit of the one-pass law and the repeated law with one floor, compared with an independent minimiser."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.jets_laws.repeated import amplification
from isoplan.data.catalogue import records
from isoplan.data.files import path
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit, fit_groups, read_fit, to_json
from isoplan.engine.fitting.common_floor import fit_one_floor
from isoplan.engine.fitting.resampling.bootstrap import counts
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.document import to_csv
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.repeat.answer import SimulateOrRepeat, simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.document import as_document
from isoplan.engine.planning.repeat.factor import Factor, stated
from isoplan.engine.planning.repeat.floors import FLOORS_APART, ONE_FLOOR, together
from isoplan.engine.planning.repeat.text import as_text
from isoplan.engine.planning.repeat.text import to_json as answer_json
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.fitting.tables import make_runs

COSTS = SampleCosts(1e-3, 2e-18)
DELTA = 1e-3
GRIDS = Path(__file__).parents[4] / "data" / "grids"


def column(rows: list[dict[str, str]], name: str) -> Floats:
    return np.array([float(row[name]) for row in rows])


ONCE = [row for row in records("grids/jets_one_pass.csv") if row["untrained"] == "0"]
AGAIN = [row for row in records("grids/jets_repeated.csv") if float(row["N"]) > 3000]
N, D, L = (column(ONCE, name) for name in ("N", "D", "loss"))
U, R = (column(AGAIN, name) for name in ("U", "loss"))


def huber(r: Floats) -> Floats:
    size = np.abs(r)
    return np.where(size <= DELTA, r**2 / 2, DELTA * (size - DELTA / 2))


def once_loss(E: float, x: Floats, weight: Floats) -> float:
    """Return the Huber objective of the one-pass law at floor E and x = (ln A, ln B, alpha, beta)."""
    if not (x[2:] > 0).all():
        return np.inf
    r = np.log(E + np.exp(x[0] - x[2] * np.log(N)) + np.exp(x[1] - x[3] * np.log(D))) - np.log(L)
    return float(weight @ huber(r))


def again_loss(E: float, x: Floats, weight: Floats) -> float:
    """Return the Huber objective of the repeated law at floor E and x = (ln B_rep, beta_rep)."""
    if not x[1] > 0:
        return np.inf
    return float(weight @ huber(np.log(E + np.exp(x[0] - x[1] * np.log(U))) - np.log(R)))


def least(f: Callable[[Floats], float], *starts: tuple[float, ...]) -> Any:
    """Minimise ``f`` with scipy by repeated Nelder-Mead searches and return the best result."""
    found = []
    for start in starts:
        x = np.array(start)
        for _ in range(4):
            made = minimize(f, x, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15, "maxfev": 20_000})
            x = made.x
        found.append(made)
    return min(found, key=lambda made: made.fun)


def scan(one: Floats, rep: Floats, floors: Floats) -> list[tuple[float, float, Floats, Floats]]:
    """Return for each floor: the summed objective, the floor, and the best x of the one-pass and the repeated law."""
    out = []
    for E in floors:
        a = least(lambda x, E=E: once_loss(E, x, one), (5.3, 1.7, 0.9, 0.18), (6, 1.5, 1.1, 0.15))  # type: ignore[misc]
        b = least(lambda x, E=E: again_loss(E, x, rep), (1.6, 0.2), (2.5, 0.4))  # type: ignore[misc]
        out.append((float(a.fun + b.fun), float(E), a.x, b.x))
    return out


@cache
def by_hand() -> list[tuple[float, float, Floats, Floats]]:
    return scan(np.ones(len(L)), np.ones(len(R)), np.array([0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5]))


def omega(a: Floats, b: Floats, jets: float) -> float:
    return float(np.exp((a[1] - b[0]) / a[3] + (b[1] / a[3] - 1) * np.log(jets)))


@cache
def jets(bootstrap: int = 0) -> tuple[Fit, Fit]:
    """Return the one-pass fit and the repeated fit of docs/jets_laws.md, read from their JSON."""
    rule = compute_rule("6npND", 42)
    once = read_runs(GRIDS / "jets_one_pass.csv", None, "untrained = 0", rule)
    again = read_runs(GRIDS / "jets_repeated.csv", {"D": "", "U": "U"}, "N > 3000", rule)
    made = fit(FitSpec(bootstrap=bootstrap), once), fit(FitSpec(law="repetition", axis="U", bootstrap=bootstrap), again)
    one, rep = (read_fit(json.loads(json.dumps(to_json(one)))) for one in made)
    return one, rep


def test_a_card_that_is_read_back_draws_the_same_runs() -> None:
    """A joint fit has the same resamples before and after both fits are written to JSON and read again."""
    rule = compute_rule("6npND", 42)
    runs = read_runs(GRIDS / "jets_one_pass.csv", None, "untrained = 0", rule)
    once = fit(FitSpec(bootstrap=20), runs)
    again = fit(
        FitSpec(law="repetition", axis="U", bootstrap=20),
        read_runs(GRIDS / "jets_repeated.csv", {"D": "", "U": "U"}, "N > 3000", rule),
    )
    once_read, again_read = (read_fit(json.loads(json.dumps(to_json(one)))) for one in (once, again))
    here, there = together(once, again), together(once_read, again_read)
    for name, drawn in here.draws.items():
        np.testing.assert_array_equal(drawn, there.draws[name])


def answer(target: float = 0.7, bootstrap: int = 0) -> SimulateOrRepeat:
    return simulate_or_repeat(*jets(bootstrap), target, COSTS, stated(10))


def test_the_joint_fit_of_our_jets_is_the_least_of_both_objectives() -> None:
    """An independent minimiser gives the same floor, and the amplification 7.7, 10.8 and 15.3 at U = 1e3, 1e4, 1e5."""
    laws = together(*jets())
    assert laws.floor is not None
    value, floor, a, b = min(by_hand(), key=lambda one: one[0])
    assert floor == pytest.approx(0.25)
    own = fit_one_floor(*jets())
    assert own.objective <= value * (1 + 1e-9)
    fine = scan(np.ones(len(L)), np.ones(len(R)), np.array([laws.floor.value]))[0]
    assert own.objective == pytest.approx(fine[0], rel=1e-4)
    assert laws.floor.value == pytest.approx(floor, abs=0.03)
    for at, hand in zip((1e3, 1e4, 1e5), (7.7, 10.8, 15.3), strict=True):
        found = float(amplification(laws.best, laws.best, np.asarray(at)))
        assert found == pytest.approx(omega(fine[2], fine[3], at), rel=0.01)
        assert found == pytest.approx(omega(a, b, at), rel=0.02)
        assert found == pytest.approx(hand, rel=0.02)
    assert all(10.2 < omega(a, b, 1e4) < 11.1 for _, _, a, b in by_hand())


def test_repeat_at_loss_0_7_is_that_of_the_joint_fit() -> None:
    found = answer()
    _, E, a, b = min(by_hand(), key=lambda one: one[0])
    samples = np.exp((b[0] - np.log(0.7 - E)) / b[1])
    once = np.exp((np.log(1 + a[3] / a[2]) + a[1] - np.log(0.7 - E)) / a[3])
    assert found.repeat.unique.value == pytest.approx(samples, rel=0.01)
    assert found.one_pass.unique.value == pytest.approx(once, rel=0.01)
    assert found.saving.value == pytest.approx(once / samples, rel=0.01)
    assert found.saving.value == pytest.approx(35, rel=0.02)


def test_refits_are_those_of_both_tables_and_follow_from_the_seed() -> None:
    one, rep = jets(24)
    found, again = fit_one_floor(one, rep), fit_one_floor(one, rep)
    assert np.array_equal(found.one.resamples, again.one.resamples)
    assert np.array_equal(found.one.resamples[:, 0], found.other.resamples[:, 0])
    few = fit_one_floor(*(replace(f, spec=f.spec.model_copy(update={"bootstrap": 48})) for f in (one, rep)))
    assert np.array_equal(few.one.resamples[:12], found.one.resamples[:12])
    drawn = counts(len(L) + len(R), 0, 0, 3, np.repeat([0, 1], [len(L), len(R)]))
    for weight, x, y in zip(drawn, found.one.resamples, found.other.resamples, strict=False):
        assert one.runs is not None
        assert rep.runs is not None
        w1, w2 = weight[: len(L)][one.runs.cluster], weight[len(L) :][rep.runs.cluster]
        a, b = np.array([*np.log(x[[1, 2]]), *x[[3, 4]]]), np.array([np.log(y[1]), y[2]])
        ours = once_loss(x[0], a, w1) + again_loss(x[0], b, w2)
        assert ours <= min(scan(w1, w2, np.array([*np.linspace(0, 0.6, 5), x[0]])))[0] * (1 + 1e-3)


def test_the_answer_states_what_a_plan_states_and_why_it_differs() -> None:
    found, plan = answer(bootstrap=60), plan_target(jets(60)[0], 0.7)
    assert found.alone == {name: plan.allocation[name] for name in ("N", "D", "C")}
    text = next(w.text for w in found.warnings if w.code == ONE_FLOOR)
    assert text.startswith("One floor is fitted to both tables together: E = L_inf = 0.24")
    assert "Separate fits give E = 0.192 (one-pass runs) and L_inf = 0." in text
    sizes = [f"{number(q)} {q.unit}" for q in (plan.allocation[name] for name in ("N", "D", "C"))]
    assert sizes[1] == "1.25 M samples"
    assert text.endswith(
        "A plan from the fit of the one-pass runs alone needs {}, {} and {} to reach 0.7.".format(*sizes)
    )
    raw = answer_json(found)
    assert raw["floor"]["value"] == pytest.approx(0.244, abs=0.01)
    assert raw["floor"]["ci95"][0] is None
    for key, name in (("one_pass_alone", "D"), ("one_pass_alone_N", "N"), ("one_pass_alone_C", "C")):
        assert raw[key]["value"] == plan.allocation[name].value
    rows = csv.reader(
        io.StringIO(to_csv(as_document(found, Factor(1.0), {"one_pass": "1.json", "repeated": "2.json"})))
    )
    exported = [float(row[1]) for row in rows if row[0].endswith("of a plan by the one-pass fit alone")]
    assert exported == [plan.allocation[name].value for name in ("N", "D", "C")]


def test_the_warnings_of_both_fits_travel_with_the_answer() -> None:
    found = answer(bootstrap=60)
    codes = [w.code for w in found.warnings]
    assert "second-optimum" in codes
    text = as_text(found)
    assert "Repeated fit: " in text
    assert "other optima fit the runs about equally well" in text
    own = {w.text for w in jets(60)[0].warnings}
    assert own
    assert all(f"One-pass fit: {one}" in text for one in own)
    assert any(w["code"] == "second-optimum" for w in answer_json(found)["warnings"])


def test_no_interval_excludes_its_own_value() -> None:
    for target in (0.5, 0.7, 1.0):
        found = answer(target, 60)
        for q in (found.omega, found.saving, found.repeat.unique, found.one_pass.unique, found.break_even):
            for ends in (q.ci68, q.ci95):
                assert ends is None or ends[0] <= (q.value or 0) <= ends[1]


def test_without_runs_each_law_keeps_its_own_fit_and_the_plan_is_the_same_to_the_digit() -> None:
    one, rep = (replace(f, runs=None) for f in jets(60))
    found = simulate_or_repeat(one, rep, 0.7, COSTS, stated(10))
    assert (found.floor, found.alone, found.shared) == (None, None, False)
    text = next(w.text for w in found.warnings if w.code == FLOORS_APART)
    assert "because the fit of chinchilla does not contain its runs; fit its table again" in text
    plan = plan_target(one, 0.7)
    for name, q in (("D", found.one_pass.unique), ("N", found.one_pass.N), ("C", found.one_pass.C)):
        assert q.value == pytest.approx(plan.allocation[name].value)
        assert q.ci68 == pytest.approx(plan.allocation[name].ci68)
        assert q.ci95 == pytest.approx(plan.allocation[name].ci95)


SIZES, SEEN = (x.ravel() for x in np.meshgrid(np.geomspace(1e3, 1e6, 5), np.geomspace(1e4, 3e5, 6)))
UNIQUE = np.repeat(np.geomspace(500, 1e4, 5), 4)


def tables(seed: int, floors: tuple[float, float], scatter: tuple[float, float], **more: Any) -> tuple[Fit, Fit]:
    """Return fits to a simulated one-pass table and a repeated table, each with its own floor and relative scatter."""
    rng, spec = np.random.default_rng(seed), {"bootstrap": 0, **more}
    once = (floors[0] + 194 / SIZES**0.9 + 5.5 / SEEN**0.2) * np.exp(scatter[0] * rng.normal(size=len(SIZES)))
    again = (floors[1] + 5 / UNIQUE**0.23) * np.exp(scatter[1] * rng.normal(size=len(UNIQUE)))
    return (
        fit(FitSpec(**spec), make_runs({"N": SIZES, "D": SEEN, "loss": once})),
        fit(FitSpec(law="repetition", axis="D", **spec), make_runs({"D": UNIQUE, "loss": again})),
    )


@pytest.mark.parametrize("objective", ["huber-log", "ols-log", "ols", "lad"])
def test_exact_tables_give_their_floor_back(objective: str) -> None:
    found = fit_one_floor(*tables(0, (0.3, 0.3), (0.0, 0.0), objective=objective))
    assert not found.rejected
    assert found.one.values["E"] == pytest.approx(0.3, rel=1e-4)
    assert found.other.values["beta_rep"] == pytest.approx(0.23, rel=1e-3)


@pytest.mark.parametrize("scatter", [(0.01, 0.03), (0.02, 0.005)])
def test_one_floor_is_rejected_where_floors_differ_and_rarely_where_not(scatter: tuple[float, float]) -> None:
    same = [fit_one_floor(*tables(seed, (0.3, 0.3), scatter)).rejected for seed in range(12)]
    assert np.mean(same) <= 0.2
    apart = [fit_one_floor(*tables(seed, (0.0, 0.6), (0.002, 0.002))).rejected for seed in range(3)]
    assert all(apart)


def test_rejected_floors_stay_apart_and_say_so() -> None:
    one, rep = tables(0, (0.0, 0.6), (0.002, 0.002))
    found = simulate_or_repeat(one, rep, 0.9, COSTS, stated(10))
    text = next(w.text for w in found.warnings if w.code == FLOORS_APART)
    assert "and the runs reject a common floor (95 %)" in text
    assert not found.shared


def test_few_runs_are_refitted_with_noise_and_not_drawn() -> None:
    one, rep = tables(0, (0.3, 0.3), (0.01, 0.01), bootstrap=40)
    few = make_runs({"D": UNIQUE[::4], "loss": rep.runs.y[::4]}) if rep.runs else None
    assert few is not None
    small = fit(FitSpec(law="repetition", axis="D", bootstrap=40), few)
    found = fit_one_floor(one, small)
    assert found.one.resampling.method == "residual"
    assert len(found.other.resamples) == 40
    spread = [np.std(np.log(x[:20, 1])) for x in (found.one.resamples, found.other.resamples)]
    assert all(size > 0 for size in spread)


def test_fixed_floors_and_priors_hold_in_the_joint_fit() -> None:
    one, rep = tables(0, (0.3, 0.3), (0.01, 0.01))
    fixed = replace(rep, spec=rep.spec.model_copy(update={"fixed": {"L_inf": 0.25}}))
    assert fit_one_floor(one, fixed).one.values["E"] == 0.25
    tight = replace(rep, spec=rep.spec.model_copy(update={"prior": {"beta_rep": (0.3, 1e-4)}}))
    assert fit_one_floor(one, tight).other.values["beta_rep"] == pytest.approx(0.3, abs=1e-3)


def why(one: Fit, rep: Fit) -> str:
    return together(one, rep).apart


def test_every_reason_for_no_joint_fit_is_one_clause() -> None:
    one, rep = tables(0, (0.3, 0.3), (0.01, 0.01))
    stated_errors = replace(rep, spec=rep.spec.model_copy(update={"relative_error": 0.01}))
    assert "only one fit uses errors of the runs" in why(one, stated_errors)
    below = make_runs({"D": UNIQUE, "loss": 5 / UNIQUE**0.23 - 1})
    negative = fit(FitSpec(law="repetition", axis="D", objective="ols", bootstrap=0), below)
    assert "the objective huber-log needs losses above zero; fit both tables with ols" in why(one, negative)
    at = [
        replace(f, spec=f.spec.model_copy(update={"fixed": {n: v}}))
        for f, n, v in ((one, "E", 0.2), (rep, "L_inf", 0.3))
    ]
    assert "the floors are fixed at different values; fix both at the same value" in why(*at)
    card = read_fit(json.loads(path("cards/jets_table1.json").read_text("utf-8")))
    assert "the published fit of chinchilla contains no runs; fit your own runs" in why(card, rep)
    many = replace(rep, runs=None, n=20_000)
    assert "has more than 10,000 runs; select fewer" in why(one, many)


def test_groups_that_share_parameters_have_no_common_floor_with_another_table() -> None:
    names = [str(k) for k, _ in product(range(2), range(6))]
    x = np.tile(np.geomspace(1e3, 1e6, 6), 2)
    runs = make_runs({"D": x, "loss": np.repeat([0.3, 0.5], 6) + 5 / x**0.23}, groups=names)
    found = fit_groups(FitSpec(law="repetition", axis="D", share=("beta_rep",), bootstrap=0, objective="ols-log"), runs)
    one, _ = tables(0, (0.3, 0.3), (0.01, 0.01))
    assert "shares parameters with the fits of other groups; fit this group alone" in why(one, found.fits["0"])


def test_a_card_contains_the_runs_and_refuses_broken_ones() -> None:
    one, _ = jets()
    raw = json.loads(json.dumps(to_json(one)))
    assert one.runs is not None
    assert np.array_equal(one.runs.columns["N"], N)
    assert np.array_equal(one.runs.y, L)
    assert "weight" not in raw["runs"]
    assert "runs" not in to_json(one, resamples=False)
    raw["runs"]["y"].pop()
    with pytest.raises(PlannerError, match="'runs' of the card has 42 values of N and 41 of y: correct the card"):
        read_fit(raw)
    del raw["runs"]["columns"]["D"]
    with pytest.raises(PlannerError, match="'runs' of the card has no column D: fit again, or remove 'runs'"):
        read_fit(raw)
    del raw["runs"]
    assert read_fit(raw).runs is None
