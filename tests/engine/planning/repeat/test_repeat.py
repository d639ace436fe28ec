"""The choice to simulate or to repeat samples: published numbers, changes of units, and refused inputs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.data.files import path
from isoplan.engine.costs import compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.runtime import Runtime
from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.document import to_csv
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.repeat import reply
from isoplan.engine.planning.repeat.answer import Regime, simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts, costs_of
from isoplan.engine.planning.repeat.document import as_document
from isoplan.engine.planning.repeat.factor import stated
from isoplan.engine.planning.repeat.floors import FLOORS_APART, NO_SAVING, NO_THRESHOLD, together
from isoplan.engine.planning.repeat.text import as_text, crossing, rows, sentence, to_json, unpriced, worth_text
from isoplan.engine.planning.repeat.worth import worth_of
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from tests.app.terminal.asking import object_in
from tests.engine.planning.conftest import JETS, make_fit, scattered

REPEATED = (0.32, 5.79, 0.22)
COSTS = SampleCosts(1e-3, 2e-18)
TEN = stated(10)
FILES = {"one_pass": "one.json", "repeated": "two.json"}


def card(name: str) -> Fit:
    return read_fit(json.loads(path(f"cards/{name}.json").read_text("utf-8")))


TABLE_1, TABLE_2 = card("jets_table1"), card("jets_table2_21x128")


def fits(r: int = 300, floor: float = 0.32, spread: float = 0.01) -> tuple[Fit, Fit]:
    """Return the one-pass law (jets, Table 1) and the repeated law (Table 2), each with ``r`` resamples."""
    repeated = (floor, *REPEATED[1:])
    return (
        make_fit(JETS, scattered(JETS, r, spread), rule=compute_rule("6npND", 40)),
        make_fit(repeated, scattered(repeated, r, spread, seed=1), law="repetition", axis="D"),
    )


def of(q: Quantity) -> float:
    assert q.value is not None
    return q.value


def total(regime: Regime) -> float:
    return of(regime.total)


@given(st.floats(0.34, 3.0), st.floats(1e-9, 1e3))
def test_jets_tables_1_and_2_at_any_target_and_price(target: float, price: float) -> None:
    """omega is 2.73 and D/U is 17.2. At break-even, a sample costs 9.55 times as much as training on it once."""
    found = simulate_or_repeat(TABLE_1, TABLE_2, target, SampleCosts(price, 2e-18), TEN)
    assert found.omega.value == pytest.approx(2.73, abs=0.005)
    assert found.saving.value == pytest.approx(17.2, abs=0.05)
    assert found.break_even_passes.value == pytest.approx(9.55, abs=0.005)
    assert found.saving.value == pytest.approx(of(found.omega) * (1 + 0.22 / 0.44) ** (1 / 0.22))
    assert found.shared
    assert found.omega.ci68 is None
    N, D = of(found.one_pass.N), of(found.one_pass.unique)
    assert D == pytest.approx(((1 + 0.22 / 0.44) * 7.22 / (target - 0.32)) ** (1 / 0.22))
    assert found.break_even.value == pytest.approx(9 / (1 - 1 / of(found.saving)) * 6 * 40 * N * 2e-18)


def test_without_a_threshold_only_costs_are_shown() -> None:
    found = simulate_or_repeat(TABLE_1, TABLE_2, 0.5, COSTS, TEN)
    assert (found.repeat.N.value, found.repeat.epochs.value) == (None, None)
    assert "withheld" in found.repeat.N.note
    assert NO_THRESHOLD in [w.code for w in found.warnings]
    assert total(found.repeat) == pytest.approx(1e-3 * of(found.repeat.unique) + 10 * of(found.one_pass.training))


def test_with_a_threshold_the_model_and_its_passes_follow() -> None:
    line = make_fit((40.0, 0.47), law="threshold")
    found = simulate_or_repeat(TABLE_1, TABLE_2, 0.5, COSTS, TEN, line)
    U, N, epochs = (of(q) for q in (found.repeat.unique, found.repeat.N, found.repeat.epochs))
    assert N == pytest.approx(40 * U**0.47)
    assert epochs == pytest.approx(of(found.repeat.C) / (6 * 40 * of(found.repeat.N) * U))
    assert NO_THRESHOLD not in [w.code for w in found.warnings]


@given(st.floats(0.4, 2.0), st.floats(1e-6, 1e6))
@settings(max_examples=30)
def test_prices_scale_money_and_move_no_sample(target: float, times: float) -> None:
    before = simulate_or_repeat(*fits(50), target, COSTS, TEN)
    after = simulate_or_repeat(*fits(50), target, SampleCosts(1e-3 * times, 2e-18 * times), TEN)
    for one, other in ((before.one_pass, after.one_pass), (before.repeat, after.repeat)):
        assert other.unique == one.unique
        assert total(other) == pytest.approx(times * total(one))
        assert other.total.ci95 == pytest.approx([times * x for x in one.total.ci95 or ()])
    assert after.break_even.value == pytest.approx(times * of(before.break_even))
    assert after.repeat_cheaper == before.repeat_cheaper


@given(st.floats(1e-3, 1e3))
@settings(max_examples=20)
def test_the_unit_of_samples_changes_no_answer(unit: float) -> None:
    """If D counts units of ``unit`` jets, B, B_rep, n_p and the price per sample change. Total costs stay the same."""
    one, rep = fits(50)
    scale = np.array([1, 1, unit**-0.22, 1, 1]), np.array([1, unit**-0.22, 1])
    moved = (
        replace(make_fit(tuple(np.array(JETS) * scale[0])), compute=compute_rule("6npND", 40 * unit)),
        make_fit(tuple(np.array(REPEATED) * scale[1]), law="repetition", axis="D"),
    )
    before = simulate_or_repeat(one, rep, 0.5, COSTS, TEN)
    after = simulate_or_repeat(*moved, 0.5, SampleCosts(1e-3 * unit, 2e-18), TEN)
    assert total(after.one_pass) == pytest.approx(total(before.one_pass))
    assert total(after.repeat) == pytest.approx(total(before.repeat))
    assert after.omega.value == pytest.approx(of(before.omega))
    assert after.one_pass.unique.value == pytest.approx(of(before.one_pass.unique) / unit)


def test_at_the_break_even_price_both_regimes_cost_the_same() -> None:
    price = simulate_or_repeat(*fits(), 0.5, COSTS, TEN).break_even.value
    assert price is not None
    even = simulate_or_repeat(*fits(), 0.5, SampleCosts(price, 2e-18), TEN)
    assert total(even.repeat) == pytest.approx(total(even.one_pass))
    for factor, cheaper in ((0.9, "one pass"), (1.1, "repeat")):
        found = simulate_or_repeat(*fits(), 0.5, SampleCosts(price * factor, 2e-18), TEN)
        assert found.cheaper is not None
        assert found.cheaper.name == cheaper
    assert found.repeat_cheaper is not None
    assert 0.5 < found.repeat_cheaper < 1


def test_samples_at_hand_cost_nothing_more() -> None:
    plain = simulate_or_repeat(*fits(), 0.5, COSTS, TEN)
    U, D = (of(x.unique) for x in (plain.repeat, plain.one_pass))
    have = simulate_or_repeat(*fits(), 0.5, replace(COSTS, have=U), TEN)
    assert have.repeat.simulation.value == pytest.approx(0)
    assert have.one_pass.simulation.value == pytest.approx(1e-3 * (D - U))
    enough = simulate_or_repeat(*fits(), 0.5, replace(COSTS, have=2 * D), TEN)
    assert enough.break_even.value is None
    assert enough.cheaper is enough.one_pass


def test_floors_apart_hold_omega_at_the_target_alone() -> None:
    one, rep = fits(1000, floor=0.524)
    apart = simulate_or_repeat(one, rep, 0.6, COSTS, TEN)
    assert not apart.shared
    text = next(w.text for w in apart.warnings if w.code == FLOORS_APART)
    assert text.startswith(
        "Each law keeps its own floor (0.320 and 0.524), because the fit of chinchilla does not contain"
    )
    assert text.endswith("omega is computed from both laws and is valid only at this target.")
    D = (7.22 / (0.6 - 0.32)) ** (1 / 0.22)
    U = (5.79 / (0.6 - 0.524)) ** (1 / 0.22)
    assert apart.omega.value == pytest.approx(D / U)
    assert apart.mismatched
    (caution,) = [w for w in apart.warnings if w.code == NO_SAVING]
    assert caution.level is Level.CAUTION
    assert caution.text == (
        "The two laws are not of one task (floors 0.320 and 0.524): repeating needs more unique samples than one "
        "pass. Choose laws of the same task."
    )
    assert (apart.cheaper, crossing(apart), sentence(apart)) == (
        None, "", "These two laws cannot be compared at loss 0.6.",
    )  # fmt: skip


def test_a_worse_loss_of_repeated_samples_at_hand_is_a_caution_and_no_remark() -> None:
    one, rep = fits(0, floor=0.45)
    given = Given(Question("target", 0.9), values={"have": 1e8, "kappa": 10.0}, fits={"one_pass": one, "repeated": rep})
    found = reply.answer(one, given)
    assert not found.result.mismatched
    assert found.remarks == ()
    assert "the samples at hand reach a worse loss if they are repeated" in found.warnings[0].text
    assert found.warnings[0].code == NO_SAVING


def test_other_inputs_have_another_floor_and_say_so() -> None:
    found = simulate_or_repeat(TABLE_1, card("jets_table2_3x40"), 0.9, COSTS, TEN)
    assert not found.shared
    text = next(w.text for w in found.warnings if w.code == FLOORS_APART)
    assert text.startswith("Each law keeps its own floor (0.320 and 0.740), because the published fit of chinchilla")


def test_resamples_that_cannot_reach_the_target_cost_infinity() -> None:
    one, rep = fits(400, spread=0.05)
    found = simulate_or_repeat(one, rep, 0.335, COSTS, TEN)
    assert found.p_reach is not None
    assert 0.5 < found.p_reach < 1
    assert found.one_pass.total.ci95 is not None
    assert math.isinf(found.one_pass.total.ci95[1])
    assert found.omega.ci68 is None
    assert "uncertain-floor" in [w.code for w in found.warnings]


def test_the_picture_holds_both_lines_and_the_point() -> None:
    found = simulate_or_repeat(*fits(), 0.5, COSTS, TEN)
    picture = found.picture
    assert picture is not None
    assert picture.point == pytest.approx((1e-3, total(found.one_pass), total(found.repeat)))
    assert picture.break_even == pytest.approx(found.break_even.value)
    one, rep = (np.interp(picture.break_even, picture.price, y) for y in (picture.one_pass, picture.repeat))
    assert one == pytest.approx(rep, rel=0.02)
    assert np.all(picture.one_pass_band[0] < picture.one_pass)
    assert np.all(picture.repeat < picture.repeat_band[1])


def test_prices_of_a_plan_give_both_prices() -> None:
    machine = Machine(find_device("H100"), price=3.0)
    costs = costs_of(Prices(machine, Simulation(price=0.01), currency="USD"), have=5)
    assert (costs.sample, costs.currency, costs.have) == (0.01, "USD", 5)
    assert costs.flop == pytest.approx(3.0 / (989e12 * 0.4 * 3600))
    with pytest.raises(PlannerError, match="A simulated sample has no price"):
        costs_of(Prices(machine))


PEAK = Prices(Machine(find_device("H100"), price=3.0), Simulation(price=0.01))


def test_training_has_no_price_at_a_share_of_the_peak_that_the_model_does_not_reach() -> None:
    """A model too small for the assumed fraction of peak has no training price, no total and no break-even price."""
    one, repeated = fits()
    found = simulate_or_repeat(one, repeated, 0.7, costs_of(PEAK), TEN)
    N = of(found.one_pass.N)
    assert N < PEAK.machine.least == pytest.approx(1e7)
    for q in (*(x for r in (found.one_pass, found.repeat) for x in (r.training, r.total)), found.break_even):
        assert (q.value, q.ci68, q.ci95) == (None, None, None)
        assert q.note.startswith("not known")
    assert found.one_pass.training.note.startswith("not known: a model of 27 k parameters does not reach 40 % of the ")
    assert of(found.one_pass.simulation) == pytest.approx(0.01 * of(found.one_pass.unique))
    assert (found.cheaper, found.repeat_cheaper, found.picture) == (None, None, None)
    priced = simulate_or_repeat(one, repeated, 0.7, COSTS, TEN)
    assert found.break_even_passes.value == pytest.approx(priced.break_even_passes.value)
    assert found.saving == priced.saving
    said = sentence(found)
    assert "The simulation costs " in said
    assert said.endswith("; give the share that you measured.")
    assert "cheaper to" not in said
    raw = object_in(json.dumps(to_json(found), allow_nan=False))
    assert (raw["cheaper"], raw["repeat_cheaper"], raw["picture"], raw["question"]["flop_price"]) == (None,) * 4
    assert raw["break_even"]["value"] is None
    assert "EUR" not in "".join(line for line in as_text(found).splitlines() if "raining, money" in line)


def test_a_share_that_the_model_reaches_is_taken() -> None:
    machine = replace(PEAK.machine, utilisation=0.002)
    found = simulate_or_repeat(*fits(), 0.7, costs_of(replace(PEAK, machine=machine)), TEN)
    assert machine.least < of(found.one_pass.N)
    assert of(found.one_pass.training) == pytest.approx(float(machine.money(of(found.one_pass.C))))
    assert found.cheaper is found.repeat
    given = simulate_or_repeat(*fits(), 0.7, COSTS, TEN)
    assert of(given.one_pass.training) == pytest.approx(2e-18 * of(given.one_pass.C))


def test_the_time_on_the_machine_of_the_runs_stands_in_its_place() -> None:
    one, repeated = fits()
    timed = replace(one, data=replace(one.data, runtime=Runtime(5.0, 1e-4, 2e-9, 0.2, 40, "seconds")))
    found = simulate_or_repeat(timed, repeated, 0.7, costs_of(PEAK), TEN)
    assert found.one_pass.time is not None
    N, D = of(found.one_pass.N), of(found.one_pass.unique)
    assert found.one_pass.time.value == pytest.approx(5.0 + 1e-4 * D + 2e-9 * N * D)
    assert found.one_pass.time.ci68 is not None
    assert "One pass: Training time on the machine of the runs" in {row.quantity for row in rows(found)}
    assert to_json(found)["regimes"]["one pass"]["time"]["value"] == found.one_pass.time.value
    assert simulate_or_repeat(one, repeated, 0.7, COSTS, TEN).one_pass.time is None


def test_the_python_of_an_answer_keeps_the_machine() -> None:
    found = simulate_or_repeat(*fits(), 0.7, costs_of(PEAK), TEN)
    assert "costs_of(read_prices({" in as_document(found, TEN, FILES).script


FAR = {"N": (1e3, 1e4), "D": (1e3, 1e5), "C": (1e8, 1e11), "loss": (0.9, 2.0)}


def test_beyond_three_decades_both_regimes_have_no_numbers() -> None:
    """As for a plan, the answer only states the range of compute C that the runs support. All its results are None."""
    one, repeated = (replace(fit, data=replace(fit.data, ranges=FAR)) for fit in fits())
    found = simulate_or_repeat(one, repeated, 0.45, COSTS, TEN)
    assert not found.answers
    said = sentence(found)
    assert said.startswith("These runs support plans from C = ")
    assert "The answer for loss 0.45 lies " in said
    assert unpriced(found) == said
    assert rows(found) == ()
    assert rows(found, priced=False) == ()
    raw = to_json(found)
    for q in (*raw["regimes"]["one pass"].values(), *raw["regimes"]["repeat"].values(), raw["omega"], raw["saving"]):
        assert q["value"] is None
        assert q["ci68"] is None
    assert (raw["cheaper"], raw["repeat_cheaper"], raw["picture"]) == (None, None, None)
    assert raw["support"]["axis"] == "C"
    made = as_document(found, TEN, FILES)
    assert made.lines == ()
    assert "Stop: " in to_csv(made)
    assert "unsupported" in {w.code for w in found.warnings if w.level is Level.STOP}
    near = simulate_or_repeat(one, repeated, 0.9, COSTS, TEN)
    assert near.answers
    assert "support" not in to_json(near)


def test_samples_at_hand_far_beyond_the_runs_are_worth_nothing_that_is_known() -> None:
    one, repeated = (replace(fit, data=replace(fit.data, ranges=FAR)) for fit in fits())
    far, near = (worth_of(one, repeated, U) for U in (1e9, 2e6))
    assert far.beyond == pytest.approx(4.0, abs=2.0)
    assert not far.answers
    assert "beyond the runs" in worth_text(far, "jets")
    assert "reach" not in worth_text(far, "jets")
    assert near.answers
    assert ", extrapolated " in worth_text(near, "jets")


def test_two_million_jets_are_worth_more_repeated() -> None:
    found = worth_of(*fits(), U=2e6)
    assert found.once.value == pytest.approx(0.32 + 1.5 * 7.22 * 2e6**-0.22)
    assert found.repeated.value == pytest.approx(0.32 + 5.79 * 2e6**-0.22)
    assert found.equivalent.value == pytest.approx(17.2 * 2e6, rel=0.01)
    assert found.equivalent.ci68 is not None
    with pytest.raises(PlannerError, match="The number of samples, 0, is not positive"):
        worth_of(*fits(), U=0)


def test_text_and_json_say_the_same() -> None:
    found = simulate_or_repeat(*fits(), 0.5, COSTS, TEN)
    raw = object_in(json.dumps(to_json(found), allow_nan=False))
    assert raw["regimes"]["repeat"]["total"]["value"] == total(found.repeat)
    assert raw["sentence"] in as_text(found)
    assert raw["sentence"].startswith("To reach loss 0.5 at 0.001 EUR a sample it is cheaper to repeat (100 % of the")
    assert found.picture is not None
    assert len(raw["picture"]["price"]) == len(found.picture.price)
    assert {r.quantity for r in rows(found)} > {"One pass: Total, money", "Repeat: Total, money"}


def test_a_power_law_of_unique_samples_is_the_same_law() -> None:
    power = make_fit((0.32, 5.79 ** (1 / 0.22), 0.22), law="power", axis="U")
    same = simulate_or_repeat(TABLE_1, power, 0.5, COSTS, TEN)
    assert same.omega.value == pytest.approx(2.73, abs=0.005)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: SampleCosts(0.0, 1e-18), "The price of one simulated sample is 0: give a positive number"),
        (lambda: SampleCosts(1e-3, 0.0), "The price of one FLOP is 0: give a positive number"),
        (lambda: SampleCosts(1e-3, 1e-18, have=-1), "The number of available samples, -1, is not possible"),
        (lambda: stated(0.5), "With kappa = 0.5, repeated training would need less compute"),
        (lambda: simulate_or_repeat(TABLE_1, TABLE_2, 0.3, COSTS, TEN), "loss of 0.3 is below the floor 0.320 of the"),
        (lambda: simulate_or_repeat(TABLE_1, TABLE_2, math.nan, COSTS, TEN), "The target nan is not a finite number"),
        (lambda: simulate_or_repeat(TABLE_2, TABLE_2, 0.5, COSTS, TEN), "one-pass law must be a surface over N and D"),
        (lambda: simulate_or_repeat(TABLE_1, TABLE_1, 0.5, COSTS, TEN), "'repetition' on unique samples, but this fit"),
        (
            lambda: simulate_or_repeat(TABLE_1, TABLE_2, 0.5, COSTS, TEN, TABLE_1),
            "The overfitting threshold needs a fit of the law 'threshold'",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(ask: object, why: str) -> None:
    with pytest.raises(PlannerError) as error:
        ask()  # type: ignore[operator]
    assert why in str(error.value)


def test_laws_of_two_tables_are_independent_though_their_seeds_are_equal() -> None:
    tied = scattered(JETS, 300, 0.01)
    one = make_fit(JETS, tied)
    far = (0.6, *REPEATED[1:])  # floors that differ so much are not fitted jointly
    other = make_fit(far, tied[:, :3] / np.array(JETS[:3]) * np.array(far), law="repetition", axis="D")
    apart = replace(other, data=replace(other.data, sha256="cd" * 32))
    tables = together(one, other).draws, together(one, apart).draws
    same, shuffled = (float(np.corrcoef(d["E"], d["L_inf"])[0, 1]) for d in tables)
    assert same == pytest.approx(1.0)
    assert abs(shuffled) < 0.2


def test_who_has_all_samples_does_not_simulate() -> None:
    stock = SampleCosts(1e-3, 2e-18, have=1e13)
    text = as_text(simulate_or_repeat(TABLE_1, TABLE_2, 0.5, stock, TEN))
    assert "it is cheaper to train once on the samples at hand" in text
