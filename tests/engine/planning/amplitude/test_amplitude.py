"""Plans for the precision of amplitudes: compared with all published processes; refused inputs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.data.amplitudes import best_laws, published_law, published_laws
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.planning.amplitude.evidence import Anchor, PublishedLaw
from isoplan.engine.planning.amplitude.needs import conservative
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import of_error, of_mse, percent
from isoplan.engine.planning.amplitude.reply import as_document, as_text, rows, sentence, to_json
from isoplan.engine.planning.amplitude.scaling import plan_amplitude, plan_fitted, scaled
from isoplan.engine.planning.answer.document import to_csv, to_markdown
from tests.app.terminal.asking import object_in

CHEAP = Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3, doubled=0.03)


def codes(plan: AmplitudePlan) -> list[str]:
    return [w.code for w in plan.warnings]


def size(x: float | None) -> float:
    assert x is not None
    return x


@pytest.mark.parametrize(
    ("n_f", "d", "value"), [(2, 2, 1.5), (3, 5, 0.8), (4, 8, 0.5), (5, 11, 4 / 11)], ids=lambda x: f"{x:g}"
)
def test_the_exponent_to_count_on(n_f: int, d: int, value: float) -> None:
    plan = plan_amplitude(n_f, of_mse(1e-4), [CHEAP])
    assert plan.dimension == d
    assert plan.bound == pytest.approx(4 / d)
    assert plan.exponent.value == pytest.approx(value)
    assert plan.exponent.halved == pytest.approx(value / 2)
    assert ("bound-fails" in codes(plan)) == (n_f == 2)
    assert conservative(n_f, fixed_energy=True).value == pytest.approx(1.5 if n_f == 2 else 4 / (d - 1))


def test_two_particles_are_below_every_published_exponent_and_say_why() -> None:
    two = [law.alpha for law in published_laws() if law.n_f == 2]
    assert min(two) == 1.565
    assert conservative(2).value < min(two) < 4 / 2
    assert "forward and backward singularities" in conservative(2).source


@pytest.mark.parametrize("law", [x for x in best_laws() if x.axis == "D"], ids=lambda x: f"{x.process}")
def test_every_process_needs_no_more_data_than_planned_from_a_cheap_anchor(law: PublishedLaw) -> None:
    """Anchor (D = 1e4) and target (D = 1e6) lie on the published curve (amplitudes paper, Tables 5 to 15)."""
    start, target = (float(law.fit.predict({"D": D})) for D in (1e4, 1e6))
    others = [p for p in best_laws() if p.process != law.process]
    plan = scaled(law.n_f, of_mse(target), [replace(CHEAP, loss=start)], published=others)
    assert size(plan.D.most) >= 1e6
    if plan.D.least is None:
        assert law.process == "Zgggg"
        assert "one-end" in codes(plan)
    else:
        assert 0.15 < plan.D.least / 1e6 < 3  # processes with equally many particles have similar exponents
        assert plan.D.least <= size(plan.D.most)


def test_multiplicities_two_to_five_are_all_there() -> None:
    assert {law.n_f for law in best_laws()} == {2, 3, 4, 5}
    assert len(published_laws()) == 81
    assert {law.process for law in published_laws() if law.raw} == {"ttH"}


def test_data_anchor_alone_gives_n_and_compute() -> None:
    plan = scaled(4, of_mse(1e-5), [CHEAP], published=best_laws())
    most = 1e4 * 100 ** (1 / 0.5)
    assert plan.D.most == pytest.approx(most)
    assert (plan.N.least, plan.N.most) == (1e5, 1e5)
    assert plan.C.most == pytest.approx(6 * 1e5 * most * 1e3)
    median = 0.967  # median of three exponents: Zggg 0.997, WZgg 0.932, yygg 0.967
    assert plan.D.least == pytest.approx(1e4 * 100 ** (1 / median))
    small = scaled(4, of_mse(1e-5), [replace(CHEAP, N=1e3, flops_per_sample=9e3)])
    assert small.N.most == 1e4
    assert "of the anchor to 10000" in small.N.note
    assert small.C.most == pytest.approx(9e3 / 1e3 * 1e4 * most * 1e3)
    bare = scaled(4, of_mse(1e-5), [replace(CHEAP, epochs=None)])
    assert bare.C.most is None
    assert bare.C.note == "not known: give the epochs of the anchor, or an anchor limited by C"


def test_compute_and_size_get_laws_of_their_own() -> None:
    anchors = [CHEAP, Anchor("C", 1e14, 1e-3, doubled=0.0), Anchor("N", 1e4, 1e-3, doubled=0.05)]
    plan = plan_amplitude(3, of_mse(1e-5), anchors, published=best_laws())
    assert plan.C.most == pytest.approx(1e14 * 100 ** (1 / 0.8))
    assert plan.N.most == pytest.approx(1e4 * 100 ** (1 / 0.8))
    assert [need.axis for need in plan.needs] == ["D", "N", "C"]
    assert plan.N.least is None


def test_two_anchors_fit_the_exponent_and_narrow_the_range() -> None:
    second = Anchor("D", 1e5, 1e-3 * 10**-0.75, N=1e5, epochs=1e3, doubled=0.02)
    plan = scaled(5, of_mse(1e-5), [CHEAP, second])
    (need,) = plan.needs
    assert need.fast is not None
    assert need.fast.value == pytest.approx(0.75)
    assert need.start == pytest.approx((1e5, second.loss))
    assert plan.D.least == pytest.approx(1e5 * (second.loss / 1e-5) ** (1 / 0.75))
    flat = Anchor("D", 1e5, 1e-3 * 10**-0.2, doubled=0.02)
    slower = scaled(5, of_mse(1e-4), [CHEAP, flat]).needs[0]
    assert slower.slow.value == pytest.approx(0.2)
    assert "smaller than the bound 4/d" in slower.slow.source


def test_a_wide_range_asks_for_a_second_anchor() -> None:
    wide = scaled(5, of_mse(1e-6), [CHEAP], published=best_laws())
    assert wide.needs[0].decades > 2
    text = next(w.text for w in wide.warnings if w.code == "wide-range")
    assert text.endswith("decades: train a second anchor at D = 100 k phase-space points and ask again.")
    near = scaled(3, of_mse(1e-4), [CHEAP], published=best_laws())
    assert near.needs[0].decades < 2
    assert "wide-range" not in codes(near)


def test_a_published_law_answers_within_its_range_and_is_extrapolated_beyond() -> None:
    law = published_law("Zggg", held="N = 1e6")
    inside = scaled(4, of_mse(1e-4), law=law)
    assert inside.D.least == pytest.approx(12.68 * 1e-4 ** (-1 / 0.997))
    assert inside.D.most == pytest.approx(size(inside.D.least))
    assert [need.inside for need in inside.needs] == [True]
    near = scaled(2, of_mse(1e-5), law=published_law("Zg"))
    assert [need.inside for need in near.needs] == [True, True]
    beyond = scaled(4, of_mse(1e-8), law=law)
    assert not beyond.needs[0].inside
    assert beyond.D.least == pytest.approx(12.68 * 1e-8 ** (-1 / 0.997))
    assert beyond.D.most == pytest.approx(1e6 * ((12.68 / 1e6) ** 0.997 / 1e-8) ** (1 / 0.5))


def test_a_published_law_of_d_brings_n_and_the_compute_of_its_process() -> None:
    """By its law of C, WZ needs C = X_c * (1e-5 - K)^(-1/alpha) for an MSE of 1e-5 (amplitudes paper, Table 10)."""
    law = published_law("WZ", held="N = 1e6")
    plan = plan_amplitude(2, of_mse(1e-5), law=law, published=best_laws())
    against = published_law("WZ", "C", "D = 3.86e5").fit.values
    exact = float(against["X_c"]) * (1e-5 - float(against["K"])) ** (-1 / float(against["alpha"]))
    assert plan.C.least == pytest.approx(exact)
    assert plan.C.note == "by the published law against C at D = 3.86e5"
    assert (plan.N.least, plan.N.most) == (1e6, 1e6)
    assert plan.N.note == "fixed size of the networks behind the published law against D"
    assert "laws-one-by-one" in codes(plan)
    raw = plan_amplitude(3, of_mse(1e-5), law=published_law("ttH"))
    assert [need.axis for need in raw.needs] == ["D", "N", "C"]


def test_a_law_of_compute_says_nothing_beyond_the_points_that_it_was_measured_at() -> None:
    level = plan_amplitude(4, of_mse(1e-5), law=published_law("Zggg"), published=best_laws())
    assert level.C.most is None
    assert level.C.note.startswith("not known: the published law against C levels off at 3e-05 for D = 1e5, above")
    few = plan_amplitude(4, of_mse(1e-4), law=published_law("Zggg"), published=best_laws())
    assert few.C.note.startswith("not known: the published law against C is valid for D = 1e5, fewer points than")
    alone = plan_amplitude(5, of_mse(1e-4), law=published_law("Zgggg", network="LLoCa-Transformer, MSE"))
    assert alone.C.note.startswith("not known: no law of Zgggg against C is published; give an anchor limited by C")


def test_multiplicities_beyond_the_published_are_extrapolated() -> None:
    plan = plan_amplitude(20, of_mse(1e-4), [CHEAP], published=best_laws())
    text = next(w.text for w in plan.warnings if w.code == "beyond-published-particles")
    assert text.startswith(
        "The published processes have 2 to 5 final-state particles: for 20 the exponent 0.0714 is ext"
    )
    assert "beyond-published-particles" not in codes(plan_amplitude(5, of_mse(1e-4), [CHEAP], published=best_laws()))


def test_the_ends_of_a_range_have_names() -> None:
    plan = plan_amplitude(4, of_mse(1e-4), [CHEAP], published=best_laws())
    assert "needs 110 k (optimistic) to 1.0 M (conservative) phase-space points" in as_text(plan)
    assert "Optimistic exponent of D" in [r[0] for r in rows(plan)]


def test_laws_of_raw_amplitudes_carry_a_flag_and_no_relative_error() -> None:
    plan = plan_amplitude(3, of_mse(1e-6), law=published_law("ttH"))
    assert "raw-targets" in codes(plan)
    assert plan.target.relative is None
    assert rows(plan)[0][:2] == ("Target MSE of the raw amplitude", "1e-06")
    assert rows(plan)[1][3] == "only laws of log amplitudes determine it"
    assert as_document(plan).lines[0][0] == "Target MSE of the raw amplitude"
    assert to_json(plan)["question"]["raw"] is True
    log = plan_amplitude(3, of_mse(1e-4), law=published_law("Zgg"))
    assert rows(log)[0][0] == as_document(log).lines[0][0] == "Target MSE of the standardised log amplitude"
    assert to_json(log)["question"]["raw"] is False


@pytest.mark.parametrize(
    ("fixed", "said"),
    [
        (False, "sqrt(s) varies: d = 3 n_f - 4 with n_f = 3; the bound 4/d is 0.8"),
        (True, "sqrt(s) is fixed: d = 3 n_f - 5 with n_f = 3; the bound 4/d is 1"),
    ],
)
def test_a_plan_says_whether_the_energy_varies(fixed: bool, said: str) -> None:
    plan = plan_amplitude(3, of_mse(1e-4), [CHEAP], fixed_energy=fixed)
    d = "4" if fixed else "5"
    assert ("Dimension d of the phase space", d, "", said) in rows(plan)
    assert ("Dimension d of the phase space", f"{d} ({said})") in as_document(plan).lines
    assert said in as_text(plan)
    assert to_json(plan)["question"]["fixed_energy"] is fixed


def test_numbers_of_a_plan_are_said_without_powers_of_ten() -> None:
    wide = scaled(3, of_mse(0.25, sigma=10.0), [CHEAP])
    assert "(RMS relative error 500 %)" in sentence(wide)
    assert [percent(x) for x in (0.001, 5.0, 123.4)] == ["0.1 %", "500 %", "12,000 %"]
    endless = scaled(20, of_mse(1e-30), [CHEAP])
    assert endless.D.most == math.inf
    assert sentence(endless).startswith(
        "An MSE of 1e-30 for 20 final-state particles needs more phase-space points than can be counted, with 100 k "
    )
    assert [r[1:3] for r in rows(endless) if r[0].startswith("Training points")] == [("unbounded", "")]
    (text,) = (w.text for w in endless.warnings if w.code == "unbounded")
    assert text.startswith("With an exponent of 0.0714, no finite D reaches the target: ask for a higher target")
    assert "wide-range" not in codes(endless)
    half = scaled(20, of_mse(1e-30), [CHEAP, replace(CHEAP, x=1e5, loss=1e-4)])
    assert "needs at least " in sentence(half)
    assert "∞" not in as_text(half) + as_text(endless)


def test_a_size_says_which_anchor_it_comes_from() -> None:
    plan = plan_amplitude(3, of_mse(1e-5), [CHEAP, Anchor("C", 1e14, 1e-3, doubled=0.0)])
    assert plan.D.note == "extrapolated from the anchor at D = 10 k"
    assert plan.C.note == "extrapolated from the anchor at C = 10¹⁴"


@given(st.floats(1e-9, 1.0), st.floats(0.1, 10))
def test_both_ways_to_state_a_target_agree(mse: float, sigma: float) -> None:
    target = of_mse(mse, sigma)
    assert target.relative == pytest.approx(sigma * math.sqrt(mse))
    assert of_error(size(target.relative), sigma).mse == pytest.approx(mse)


@given(st.floats(1e-6, 1e-3), st.integers(2, 6))
def test_halving_the_error_costs_the_halved_exponent(error: float, n_f: int) -> None:
    one, other = (size(scaled(n_f, of_error(e, 1.0), [Anchor("D", 1e4, 1.0)]).D.most) for e in (error, error / 2))
    assert other / one == pytest.approx(2 ** (1 / conservative(n_f).halved))


def test_one_percent_of_five_particles_reads_well() -> None:
    plan = plan_amplitude(5, of_error(0.01, 1.0), [replace(CHEAP, doubled=None)], published=best_laws())
    text = as_text(plan)
    assert text.startswith("An MSE of 0.0001 (RMS relative error 1 %) for 5 final-state particles needs ")
    assert "unchecked-anchor" in codes(plan)
    raw = object_in(json.dumps(to_json(plan), allow_nan=False))
    assert raw["allocation"]["D"]["most"] == plan.D.most
    assert raw["laws"][0]["fast"]["value"] == 0.765
    assert ("Target RMS relative error", "1 %") in [r[:2] for r in rows(plan)]


@pytest.mark.parametrize(
    ("decades", "code", "said"),
    [
        (0.9, "extrapolated", ""),
        (1.8, "far-extrapolated", ", extrapolated 1.8 decades beyond the anchor in D."),
        (2.9, "far-extrapolated", ", extrapolated 2.9 decades beyond the anchor in D."),
    ],
)
def test_a_plan_says_how_far_beyond_its_anchor_it_lies(decades: float, code: str, said: str) -> None:
    """The exponent is 4/d = 0.5, so the loss decreases by half a decade when D increases by one decade."""
    plan = plan_amplitude(4, of_mse(1e-3 * 10 ** (-decades / 2)), [CHEAP])
    assert size(plan.D.most) == pytest.approx(1e4 * 10**decades)
    assert code in codes(plan)
    assert sentence(plan).endswith(said or "FLOPs.")
    assert to_json(plan)["answered"] is True


def test_beyond_three_decades_the_anchor_supports_no_range() -> None:
    plan = plan_amplitude(4, of_mse(1e-5), [CHEAP], published=best_laws())
    assert sentence(plan) == (
        "Plans from the anchor at D = 10 k phase-space points are supported up to D = 10 M, which reaches an MSE of "
        "3.16e-05. An MSE of 1e-05 for 4 final-state particles needs an extrapolation of 4 decades in D. Train a run "
        "near D = 100 k phase-space points first."
    )
    assert [w.code for w in plan.warnings if w.level is Level.STOP] == ["unsupported"]
    raw, made = to_json(plan), as_document(plan)
    assert raw["answered"] is False
    assert all(ends["least"] is ends["most"] is None for ends in raw["allocation"].values())
    assert raw["laws"] == []
    assert not any("conservative" in label.lower() and "exponent" not in label.lower() for label, _ in made.lines)
    assert "100 M" not in as_text(plan) + to_csv(made) + to_markdown(made)
    assert plan_amplitude(4, of_mse(3.17e-5), [CHEAP]).D.most is not None
    enough = replace(CHEAP, x=1e5, loss=1e-3 * 10**-0.5)
    assert size(plan_amplitude(4, of_mse(1e-5), [enough]).D.most) == pytest.approx(1e8)


def test_a_target_that_no_run_nearby_supports_asks_for_a_second_anchor() -> None:
    plan = plan_amplitude(5, of_error(0.001, 1.5), [replace(CHEAP, loss=2e-3)], published=best_laws())
    assert sentence(plan).endswith(
        " needs an extrapolation of 10 decades in D. Train a run at D = 100 k phase-space points and ask again: two "
        "runs measure the exponent, which then replaces the bound."
    )
    endless = plan_amplitude(20, of_mse(1e-30), [CHEAP])
    assert "needs an extrapolation of more decades than can be counted in D." in sentence(endless)
    assert "inf" not in as_text(endless)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (
            lambda: Anchor("D", 500, 1e-3),
            "D = 500 is below the onset of the power law. Train an anchor with at least",
        ),
        (lambda: Anchor("C", 1e11, 1e-3), "C = 1e+11 is below the onset of the power law"),
        (lambda: Anchor("D", 1e4, 1e-3, doubled=0.2), "is not limited by D: doubling N and C lowered its loss by 20 %"),
        (lambda: Anchor("D", 1e4, -1.0), "The anchor's loss is -1: give a positive number"),
        (lambda: Anchor("D", -1.0, 1e-3), "The anchor's number of phase-space points is -1: give a positive number"),
        (lambda: Anchor("C", 0.0, 1e-3), "The anchor's number of FLOPs is 0: give a positive number"),
        (
            lambda: Anchor("D", 1e4, 1e-3, doubled=-0.53),
            "The anchor at D = 10000 is not converged: doubling N and C raised its loss by 53 %. Lower the",
        ),
        (
            lambda: Anchor("D", 1e4, 1e-3, doubled=math.nan),
            "doubled: nan is not a relative change of a loss. Give the decrease of the loss",
        ),
        (lambda: of_mse(0.0), "The target MSE is 0: give a positive number, such as 1e-6"),
        (
            lambda: plan_amplitude(4, of_mse(1.0), [CHEAP]),
            "Target MSE: 1 is too large, because a constant prediction of the standardised log amplitude has an MSE "
            "of 1. Give a smaller target.",
        ),
        (
            lambda: plan_fitted("", 4, of_error(3.0, 1.5), [CHEAP]),
            "Target MSE: 4 (an RMS relative error of 300 %) is too large, because a constant prediction of the",
        ),
        (
            lambda: plan_amplitude(4, of_mse(50.0), law=published_law("Zggg")),
            "Target MSE: 50 is too large, because a constant",
        ),
        (lambda: of_error(1e-3, None), "An RMS relative error needs the spread of the amplitudes"),
        (lambda: plan_amplitude(3, of_mse(1e-6)), "The scale of the law is not known: give one anchor"),
        (lambda: plan_amplitude(3, of_mse(1e-6), [CHEAP], floor=1e-5), "target MSE of 1e-06 is below the floor 1e-05"),
        (lambda: plan_amplitude(3, of_mse(1e-2), [CHEAP], floor=5e-3), "loss 0.001 is not above the floor 0.005"),
        (lambda: plan_amplitude(1, of_mse(1e-6), [CHEAP]), "1 final-state particles has no phase space"),
        (
            lambda: plan_amplitude(3, of_mse(1e-6), law=published_law("Zgg", held="N = 1e6")),
            "A target MSE of 1e-06 is below the floor 2.5e-06 that Zgg reaches at N = 1e6",
        ),
        (
            lambda: plan_amplitude(3, of_error(1e-3, 1.0), law=published_law("ttH")),
            "The law of ttH describes raw amplitudes, so sigma(log A) cannot convert its MSE",
        ),
        (lambda: plan_amplitude(4, of_mse(1e-3), law=published_law("Zgg")), "Zgg has 3 final-state particles and the"),
        (lambda: plan_amplitude(3, of_mse(1e-3), [CHEAP], published_law("Zgg")), "each fix the scale: give one of the"),
        (
            lambda: plan_amplitude(3, of_mse(1e-6), [CHEAP, Anchor("D", 1e5, 2e-3)]),
            "The loss of the runs does not decrease with D",
        ),
        (
            lambda: plan_amplitude(3, of_mse(1e-3), law=published_law("Zgg"), floor=1e-5),
            "A published law already has a floor. Leave the floor out, or give an anchor instead of the",
        ),
        (lambda: published_law("Zbb"), "No amplitude law of 'Zbb' is published: choose one of ttH, Zg,"),
        (lambda: published_law("Zg", "N"), "No law of Zg against N with MLP-I, MSE is published"),
        (lambda: published_law("Zg", held="N = 7"), "Zg was not measured at N = 7: choose N = 1e4, N = 1e5, N = 1e6."),
    ],
)
def test_bad_input_is_one_sentence(ask: object, why: str) -> None:
    with pytest.raises(PlannerError) as error:
        ask()  # type: ignore[operator]
    assert why in str(error.value)
