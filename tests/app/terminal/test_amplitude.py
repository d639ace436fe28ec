"""Tests of the command ``amplitude``: text, JSON and bad input."""

from __future__ import annotations

import pytest

from isoplan.data.amplitudes import published_laws
from isoplan.engine.planning.amplitude.cell_laws import PLAIN
from tests.app.terminal.asking import Run, object_in, one_sentence

CHEAP = "D=1e4,loss=1e-3,N=1e5,epochs=1e3,doubled=0.03"
AMPLITUDE = ("amplitude", "--particles", 4, "--target-mse", 1e-5)


def test_amplitude_plans_from_an_anchor_or_a_published_law(run: Run) -> None:
    raw = object_in(run("amplitude", "--particles", 4, "--target-mse", 1e-4, "--anchor", CHEAP, "--json").out)
    assert raw["allocation"]["D"]["most"] == pytest.approx(1e6)
    assert raw["allocation"]["N"]["most"] == 1e5
    far = run(*AMPLITUDE, "--anchor", CHEAP)
    assert far.out.startswith(
        "Plans from the anchor at D = 10 k phase-space points are supported up to D = 10 M, which"
    )
    assert "Stop: The plan lies too far beyond the anchor to be an answer: D by 4 decades." in far.out
    shares = [run(*AMPLITUDE, "--anchor", CHEAP.replace("0.03", x), "--json").out for x in ("5%", "5 %", "0.05")]
    assert shares[0] == shares[1] == shares[2] != ""
    shown = run("amplitude", "--particles", 4, "--target-error", 0.01, "--sigma", 1, "--process", "Zggg")
    assert "(RMS relative error 1 %) for 4 final-state particles needs" in shown.out
    assert "sqrt(s) varies: d = 3 n_f - 4 with n_f = 4; the bound 4/d is 0.5" in shown.out
    two = run(*AMPLITUDE, "--anchor", CHEAP, "--anchor", "D=1e5,loss=1e-4,doubled=0", "--json")
    law = object_in(two.out)
    # Beyond the largest anchor, the plan uses the bound 4/d on the exponent. The intrinsic dimension d is 8.
    assert law["exponent"]["value"] == 0.5
    assert law["change"].startswith(
        "Extrapolation from the anchor at D = 10 k alone, with the bound 4/d = 0.5, gives a D too far beyond"
    )
    ttH = ("amplitude", "--particles", 3, "--process", "ttH")
    one_sentence(run(*ttH, "--target-error", "0.1%", "--sigma", 1), "The law of ttH describes raw amplitudes")
    assert "Target MSE of the raw amplitude" in run(*ttH, "--target-mse", 1e-4).out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--anchor", "D=500,loss=1e-3"), "is below the onset of the power law"),
        (("--anchor", "loss=1e-3,D=1e4"), "must begin with the axis that limits the run, and needs its loss"),
        (("--anchor", "D=1e4;loss=1"), "cannot be read as a number"),
        (("--anchor", "X=3"), "--anchor cannot read 'X=3': write NAME=VALUE with one of D, N, C"),
        (("--anchor", "D=1e4,D=2e4"), "--anchor names D twice"),
        (("--target-error", 0.1), "give either --target-mse, --target-error or --points"),
        ((), "The scale of the law is not known"),
        (("--anchor", "D=1e4,loss=1e-3,doubled=20%"), "lowered its loss by 20 %"),
        (("--anchor", CHEAP, "--axis", "C"), "--axis requires --process"),
        (("--anchor", CHEAP, "--held", "N = 1e6"), "--held requires --process"),
        (("--process", "Zggg", "--target-mse", 0), "The target MSE is 0"),
        (("--process", "Zggg", "--anchor", CHEAP), "because each fixes the scale. Give one of them"),
    ],
)
def test_amplitude_refuses_in_one_sentence(run: Run, options: tuple[object, ...], why: str) -> None:
    one_sentence(run(*AMPLITUDE, *options), why)


def test_amplitude_reads_the_law_of_a_network(run: Run) -> None:
    laws = [law for law in published_laws() if law.network != PLAIN and law.axis == "D"]
    law = laws[0]
    asked = ("amplitude", "--particles", law.n_f, "--target-mse", 1e-5, "--process", law.process, "--network")
    shown = run(*asked, law.network, "--held", law.held)
    assert shown.code == 0, shown.err
    assert shown.out != run(*asked, PLAIN).out
    one_sentence(run(*asked, "abacus"), "with abacus is published: choose")
    one_sentence(run(*asked[:5], "--network", law.network), "--network requires --process")
    percent = run("amplitude", "--particles", 4, "--target-error", "0.1%", "--sigma", 1.5, "--anchor", CHEAP)
    assert (
        percent.out
        == run("amplitude", "--particles", 4, "--target-error", 0.001, "--sigma", 1.5, "--anchor", CHEAP).out
    )
