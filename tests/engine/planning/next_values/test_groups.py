"""The question "Next values" for one of two groups whose curves have a common curvature."""

from __future__ import annotations

import numpy as np

import isoplan as ip
from isoplan.engine.arrays import Floats
from isoplan.engine.design.estimand import present_widths
from isoplan.engine.fitting import Fit, FitSpec, fit_groups
from isoplan.engine.planning.next_values.answer import next_values, optimum_estimand
from isoplan.engine.schema import Roles, Runs

SWEEP = np.geomspace(0.01, 1.0, 8)
BEST, FLOOR = {"one": 0.1, "two": 0.2}, {"one": 2.0, "two": 2.5}


def losses(group: str, x: Floats, random: np.random.Generator) -> Floats:
    """Return losses of the curve of ``group`` with Gaussian noise."""
    return FLOOR[group] + 0.02 * np.log(x / BEST[group]) ** 2 + 0.01 * random.standard_normal(len(x))


def fitted(x: Floats, loss: Floats, group: list[str]) -> Fit:
    """Return the fit of the group "one" with a curvature that both groups share."""
    runs = Runs(
        np.arange(len(x)), {"s": x, "loss": loss}, Roles(loss="loss", hyper=("s",), group="kind"),
        {"group": np.array(group)},
    )  # fmt: skip
    return fit_groups(FitSpec(law="log-parabola", axis="s", objective="ols", bootstrap=300, share=("a",)), runs).fits[
        "one"
    ]


def width(made: Fit) -> float:
    """Return half the width of the interval of the optimum, in logarithms."""
    return present_widths(made, [optimum_estimand(made, "s", 0.01, 1.0)])[0]


def test_a_fit_of_both_groups_reaches_the_expected_width_of_the_optimum() -> None:
    """In each of five tables, the advised cells of one group are simulated twice, and both groups are fitted again."""
    ratios = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        x, group = np.tile(SWEEP, 2), ["one"] * 8 + ["two"] * 8
        loss = np.concatenate([losses(name, SWEEP, random) for name in BEST])
        found = next_values(fitted(x, loss, group), cells=4)
        new = np.array(found.values)
        more = np.r_[x, new], [*group, *["one"] * len(new)]
        again = [fitted(more[0], np.r_[loss, losses("one", new, random)], more[1]) for _ in range(2)]
        expected = found.advice.after[-1][0].expected
        assert expected < 0.9 * found.advice.now[0]
        ratios.append(np.mean([width(one) for one in again]) / expected)
    assert 0.75 < np.median(ratios) < 1.25, ratios


def test_the_answer_names_the_group_and_has_no_range() -> None:
    random = np.random.default_rng(0)
    loss = np.concatenate([losses(name, SWEEP, random) for name in BEST])
    made = fitted(np.tile(SWEEP, 2), loss, ["one"] * 8 + ["two"] * 8)
    text = ip.next_values(made, max_cells=4).text
    assert "Train the cells in the group one." in text
    assert "Their range is not known." in text
    assert "Range" not in text
