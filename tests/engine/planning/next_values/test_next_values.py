"""The question "Next values": chosen values, ranges, the answer in the terminal and in Python, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoplan as ip
from isoplan.engine.arrays import Floats
from isoplan.engine.design.advice import Spend, advise
from isoplan.engine.design.candidates import equal_cost_candidates
from isoplan.engine.design.covariance import covariance
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit, to_json
from isoplan.engine.planning.next_values.answer import NEAR, can_locate, next_values, optimum_estimand, slope_estimands
from isoplan.engine.planning.next_values.reply import chart_gains
from isoplan.engine.planning.next_values.typed import TypedValues, parse_values
from isoplan.engine.schema import Roles, Runs
from tests.app.terminal.asking import Run, one_sentence
from tests.app.terminal.conftest import run as run

SWEEP = np.geomspace(0.01, 1.0, 9)


def swept(best: float, x: Floats = SWEEP, noise: float = 0.01, law: str = "log-parabola", **spec: Any) -> Fit:
    """Return a fit to a sweep ``x`` of the curve 2 + 0.02 (ln x - ln best)^2 with Gaussian noise."""
    u = np.log(x / best)
    loss = 2 + 0.02 * u**2 + noise * np.random.default_rng(1).standard_normal(len(x))
    runs = Runs(np.arange(len(x)), {"s": x, "loss": loss}, Roles(loss="loss", hyper=("s",)), {})
    return fit(FitSpec(law=law, axis="s", objective="ols", bootstrap=400, **spec), runs)


@pytest.fixture(scope="module")
def law() -> Fit:
    return swept(0.1)


def test_the_design_for_the_vertex_of_a_parabola_is_its_two_ends() -> None:
    """The vertex -b / 2a of a parabola around 0 has the variance var(b) / 4a^2, and var(b) is sigma^2 / sum(x^2).

    Two cells at the ends of the sweep, which add 2 to sum(x^2), are the best design (c-optimal).
    """
    made = swept(0.1, noise=0.003, interval="profile")
    one = optimum_estimand(made, "s", 0.01, 1.0)
    cells = equal_cost_candidates("s", np.geomspace(0.01, 1.0, 21))
    found = advise(made, [one], cells, Spend(2.0, 2, 1), hedge=False)
    assert sorted(found.cells) == [0, 20]
    before = covariance(made, cells, [one], hedge=False)
    u = np.linspace(-1, 1, 9)
    narrowed = (before.after(found.cells).sd[0] / before.sd[0]) ** 2
    assert narrowed == pytest.approx(np.sum(u**2) / (np.sum(u**2) + 2), rel=0.05)
    assert found.after[-1][0].expected / found.now[0] == pytest.approx(np.sqrt(narrowed), rel=0.2)


def test_the_default_range_extends_beyond_the_end_where_the_optimum_may_be(law: Fit) -> None:
    inside = next_values(law).advice.candidates.columns["s"]
    assert (inside.min(), inside.max()) == pytest.approx((0.01, 1.0))
    left = next_values(swept(0.005)).advice.candidates.columns["s"]
    assert (left.min(), left.max()) == pytest.approx((0.001, 1.0))
    shares = next_values(swept(0.4, np.geomspace(0.01, 0.5, 9), 0.02)).advice.candidates.columns["s"]
    assert shares.max() == pytest.approx(0.95)
    counts = next_values(swept(30.0, np.array([2.0, 4, 8, 16, 32, 64, 128, 256]))).advice.candidates.columns["s"]
    assert np.array_equal(counts, np.round(counts))
    assert len(np.unique(counts)) == len(counts)


def test_an_optimum_beyond_the_range_counts_as_its_end(law: Fit) -> None:
    one = optimum_estimand(law, "s", 0.01, 1.0)
    values = {"c": np.full(4, 2.0), "b": np.array([-0.2, 0.2, 0.2, 0.092]), "a": np.array([-0.01, -0.1, 0.01, 0.02])}
    assert one.value(values) == pytest.approx([10.0, 0.001, 0.001, 0.1], rel=0.01)


def test_the_slopes_at_the_ends_are_those_of_the_logarithm_of_the_curve(law: Fit) -> None:
    values = {"c": np.array([2.0, 2.0]), "b": np.array([0.2, 0.0]), "a": np.array([0.02, -0.01])}
    for one, end in zip(slope_estimands(law, "s", 0.01, 1.0), (0.01, 1.0), strict=True):
        u = np.log(end)
        curve = values["c"] + values["b"] * u + values["a"] * u**2
        slope = (values["b"] + 2 * values["a"] * u) / curve
        assert one.logs(values) / (2 * np.log(NEAR)) == pytest.approx(slope, rel=1e-3, abs=1e-4)


def test_an_optimum_that_is_not_located_is_located_by_the_slopes_at_both_ends() -> None:
    made = swept(0.1, np.geomspace(0.01, 1.0, 5), noise=0.06)
    assert made.optimum_location is not None
    assert made.optimum_location.place == "not located"
    found = next_values(made, TypedValues((0.01, 1.0)), cells=2, rounds=1)
    cells = found.advice.candidates
    slopes = covariance(made, cells, slope_estimands(made, "s", 0.01, 1.0))
    pairs = [(i, j) for i in range(len(cells)) for j in range(i)]
    best = min(slopes.after(pair).remaining for pair in pairs)
    gain = slopes.remaining - slopes.after(found.advice.cells).remaining
    assert gain > 0.9 * (slopes.remaining - best)


def test_runs_that_improve_up_to_an_end_get_cells_between_the_optimum_and_this_end() -> None:
    x = np.geomspace(0.01, 1.0, 5)
    y = 2 + 0.02 * np.log(x / 0.55) ** 2 - np.array([0, 0, 0, 0, 0.02])
    runs = Runs(np.arange(5), {"s": x, "loss": y}, Roles(loss="loss", hyper=("s",)), {})
    made = fit(FitSpec(law="log-parabola", axis="s", objective="ols", bootstrap=400), runs)
    assert made.optimum_location is not None
    assert made.optimum_location.place == "not located"
    assert made.law.optimum is not None
    assert np.nanmedian(made.law.optimum(made.draws)) == pytest.approx(0.75, rel=0.1)
    steps = np.geomspace(0.01, 1.0, 33)
    assert next_values(made, TypedValues((0.01, 1.0)), cells=2, rounds=1).values == pytest.approx(steps[-3:-1])
    beyond = next_values(made, TypedValues((0.01, 3.0)), cells=2, rounds=1).values
    assert max(beyond) > 1


def test_listed_values_are_the_only_candidates_and_the_advice_repeats(law: Fit) -> None:
    listed = TypedValues(listed=(0.02, 0.05, 0.5, 0.5))
    one, other = (next_values(law, listed, cells=2, rounds=2) for _ in range(2))
    assert one.values == other.values
    assert len(one.values) == 2
    assert set(one.values) <= {0.02, 0.05, 0.5}
    assert len(one.advice.rounds) == 2


def test_terminal_python_and_script_give_the_same_values(
    law: Fit, tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"fit-{law.hash}.json"
    path.write_text(json.dumps(to_json(law)))
    answer = ip.next_values(law, max_cells=2, values="0.01..0.9")
    body = json.loads(run("next-values", path, "--max-cells", 2, "--values", "0.01..0.9", "--json").out)
    assert [one["value"] for one in body["next_values"]] == list(answer.result.values)
    assert body["place"]["place"] == "inside"
    assert answer.sentence.startswith("Train 2 cells with s = ")
    chart = chart_gains(answer.result)
    assert chart.curves[0].y == pytest.approx(100 * answer.result.advice.gains)
    monkeypatch.chdir(tmp_path)
    exec(answer.file.script, {})
    assert answer.sentence in capsys.readouterr().out


def test_wrong_requests_are_one_sentence(law: Fit, tmp_path: Path, run: Run) -> None:
    with pytest.raises(PlannerError, match=r"the optimum is far smaller than 0\.5.*such as 0\.05"):
        next_values(swept(0.05, noise=1e-4, x=np.geomspace(0.5, 5, 9)), TypedValues((0.5, 5.0)))
    surface = fit(
        FitSpec(law="power", axis="s", objective="ols", bootstrap=50),
        Runs(np.arange(9), {"s": SWEEP, "loss": 1 + SWEEP**-0.3}, Roles(loss="loss", hyper=("s",)), {}),
    )
    with pytest.raises(PlannerError, match=r"The law power has no optimum over one column\. Fit the law 'starvation'"):
        next_values(surface)
    assert can_locate(law)
    assert not can_locate(surface)
    assert not can_locate(replace(law, runs=None))
    for text in ("0.5..0.1", "0, 1", "0.1..0.2..0.3"):
        with pytest.raises(PlannerError, match=r"a range must increase\. Write a range such as"):
            parse_values(text, "values")
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(to_json(law)))
    one_sentence(run("next-values", path, "--max-cells", 0), "max_cells: 0 is not a whole number")
