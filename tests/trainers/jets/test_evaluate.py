"""Loss, accuracy, ROC curves and rejection, compared with scikit-learn, hand counts, and simulation."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import poisson
from sklearn.metrics import accuracy_score, log_loss, roc_curve

from isoplan.engine.errors import PlannerError
from isoplan.trainers.jets.evaluate import EFFICIENCIES, METRICS, cut_error, evaluate, rejection, survivors, write_roc
from isoplan.trainers.jets.features import KINDS


def tagger(jets: int, seed: int = 0, step: float = 2.0**-30) -> tuple[np.ndarray, np.ndarray]:
    """Return informative logits and labels. Logits are exact multiples of ``step``, so scores can be equal."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, jets)
    return np.round((rng.normal(0, 1, (jets, 10)) + 1.5 * np.eye(10)[labels]) / step) * step, labels


@pytest.mark.parametrize("step", [2.0**-30, 0.125, 1])
def test_everything_agrees_with_scikit_learn(step: float) -> None:
    logits, labels = tagger(20_000, step=step)
    found = evaluate(logits, labels)
    p = softmax(logits, axis=1)
    assert found.metrics["loss"] == pytest.approx(log_loss(labels, p, labels=range(10)), rel=1e-12)
    assert found.metrics["accuracy"] == accuracy_score(labels, logits.argmax(axis=1))
    for i, kind in list(enumerate(KINDS))[1:]:
        mine = (labels == 0) | (labels == i)
        score = (p[mine, i] / (p[mine, i] + p[mine, 0])).round(12)
        qcd, kept, _ = roc_curve(labels[mine] == i, score, drop_intermediate=False)
        at = np.argmax(kept >= kind.efficiency)
        assert found.metrics[f"{kind.metric}_survivors"] == round(qcd[at] * np.sum(labels == 0))
        assert found.metrics[kind.metric] == pytest.approx(1 / qcd[at], rel=1e-12)
        curve = found.curves[kind.name]
        every = set(zip(kept.round(9), qcd.round(9), strict=True))
        assert all(point in every for point in zip(*curve.T.round(9), strict=True))
        assert len(curve) <= len(EFFICIENCIES) <= 200
        assert np.all(np.diff(curve, axis=0) >= 0)
        assert curve[0, 0] < (0.011 if step < 0.1 else 1)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
    st.integers(1, 1000),
)
def test_the_hardest_cut_that_keeps_enough(signal: list[int], background: list[int], permille: int) -> None:
    kept, left = survivors(np.array(signal, float), np.array(background, float), np.array([permille / 1000]))
    cuts = [c for c in signal if 1000 * sum(s >= c for s in signal) >= permille * len(signal)]
    assert kept[0] == sum(s >= max(cuts) for s in signal)
    assert left[0] == sum(b >= max(cuts) for b in background)


def test_rejection_by_hand() -> None:
    """Of the 4,000 QCD jets, 40 have scores above the median score of the top jets, so the rejection is 100."""
    logits = np.zeros((4_100, 10))
    labels = np.zeros(4_100, np.int64)
    labels[4_000:] = 8
    logits[4_000:, 8] = np.arange(100)
    logits[:40, 8] = 60.5
    logits[40:4_000, 8] = -1
    found = evaluate(logits, labels).metrics
    assert [found["R_top"], found["R_top_survivors"]] == [100, 40]
    assert found["R_top_error"] >= np.sqrt(0.99 / 40)
    assert {name for name in found if name.startswith("R_")} == {
        "R_top", "R_top_survivors", "R_top_low", "R_top_high", "R_top_error",
    }  # fmt: skip
    assert "R_top" in METRICS


def test_below_twenty_survivors_there_is_only_a_limit() -> None:
    # Clopper-Pearson limit: if none of n jets survives, the survival probability p is below 1 - 0.05^(1/n), or about
    # 3/n, at 95 % confidence.
    assert rejection("R", 0, 1000) == pytest.approx({"R_survivors": 0, "R_above": 1 / (1 - 0.05**0.001)})
    few = rejection("R", 19, 10**6)
    assert set(few) == {"R_survivors", "R_above"}
    # At the limit, the probability of 19 or fewer survivors is 5 %.
    assert poisson.cdf(19, 1e6 / few["R_above"]) == pytest.approx(0.05, abs=1e-4)
    assert set(rejection("R", 20, 10**6)) == {"R_survivors", "R", "R_low", "R_high", "R_error"}
    assert rejection("R", 50, 50) == pytest.approx(
        {"R_survivors": 50, "R": 1, "R_low": 1, "R_high": (0.16) ** (-1 / 50), "R_error": 0}
    )


def test_the_interval_covers_the_truth_at_least_as_often_as_it_says() -> None:
    total, share = 5_000, 0.01
    passed = np.arange(20, 120)
    chance = poisson.pmf(passed, total * share)
    intervals = [rejection("R", int(k), total) for k in passed]
    covered = sum(c for c, r in zip(chance, intervals, strict=True) if r["R_low"] <= 100 <= r["R_high"])
    assert 0.68 <= covered < 0.76
    one = rejection("R", 50, total)
    assert (one["R_high"] - one["R_low"]) / 2 / one["R"] == pytest.approx(one["R_error"], rel=0.08)


def test_classes_without_jets_are_left_out() -> None:
    logits, labels = tagger(3_000)
    some = labels != 8
    found = evaluate(logits[some], labels[some])
    assert not {name for name in found.metrics if name.startswith("R_top") and not name.startswith("R_toplv")}
    assert "Tbqq" not in found.curves
    assert "R_Hbb_survivors" in found.metrics
    assert set(evaluate(logits[labels != 0], labels[labels != 0]).metrics) == {"loss", "accuracy"}


def test_large_logits_and_blocks_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, labels = tagger(3_000)
    plain = evaluate(logits.astype(np.float32), labels).metrics
    monkeypatch.setattr("isoplan.trainers.jets.evaluate.BLOCK", 700)
    shifted = evaluate(logits.astype(np.float32) + np.float32(1024), labels).metrics
    assert shifted == pytest.approx(plain, rel=1e-3)
    assert all(np.isfinite(value) for value in evaluate(logits * 1e6, labels).metrics.values())


def test_what_cannot_be_evaluated() -> None:
    logits, labels = tagger(30)
    with pytest.raises(PlannerError, match="There are no jets to evaluate on"):
        evaluate(logits[:0], labels[:0])
    with pytest.raises(PlannerError, match="logits that are not finite: use a smaller learning rate"):
        evaluate(np.where(logits == logits[3, 3], np.nan, logits), labels)
    with pytest.raises(ValueError, match=r"logits \(30, 10\) for 29 jets"):
        evaluate(logits, labels[1:])


def test_roc_curves_beside_the_cell(tmp_path: Path) -> None:
    found = evaluate(*tagger(3_000))
    write_roc(tmp_path / "roc.csv", found.curves)
    with (tmp_path / "roc.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    back = [(float(r["signal_efficiency"]), float(r["qcd_efficiency"])) for r in rows if r["class"] == "Tbl"]
    assert np.array(back) == pytest.approx(found.curves["Tbl"], rel=1e-8)
    assert list(dict.fromkeys(r["class"] for r in rows)) == [k.name for k in KINDS[1:]]
    assert [p.name for p in tmp_path.iterdir()] == ["roc.csv"]


@pytest.mark.parametrize(("efficiency", "shift", "signals"), [(0.5, 1.5, 400), (0.99, 3.0, 3000)])
def test_the_error_of_a_rejection_holds_that_of_the_cut(efficiency: float, shift: float, signals: int) -> None:
    rng = np.random.default_rng(3)
    found, said = [], []
    for _ in range(200):
        signal, background = rng.normal(shift, 1, signals), rng.normal(0, 1, 40_000)
        passed = int(survivors(signal, background, np.array([efficiency]))[1][0])
        cut = cut_error(signal, background, efficiency)
        found.append(np.log(rejection("R", passed, 40_000, cut)["R"]))
        said.append(rejection("R", passed, 40_000, cut)["R_error"])
    assert np.std(found) == pytest.approx(float(np.median(said)), rel=0.25)
    assert np.std(found) > 2 * rejection("R", passed, 40_000)["R_error"]
