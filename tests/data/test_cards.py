"""Law cards are reproducible, can be read as fits, and contain the numbers of the papers, typed here again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks.bundled import cards
from isoplan.data.amplitudes import card_of
from isoplan.data.catalogue import CARDS, Card, path, records
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting import read_fit, to_json


def body(file: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path(f"cards/{file}").read_text(encoding="utf-8"))
    return loaded


def test_the_script_writes_the_committed_bytes() -> None:
    for name, text in cards.contents().items():
        assert path(f"cards/{name}").read_bytes() == text.encode()


def test_the_catalogue_lists_every_card_once() -> None:
    assert len(CARDS) == 89
    assert len({c.name for c in CARDS}) == len({c.file for c in CARDS}) == 89
    assert sum("amplitudes" in c.file for c in CARDS) == 81


def test_every_card_has_an_identity_of_its_own_that_survives_json() -> None:
    laws = [read_fit(json.loads(path(card.file).read_text("utf-8"))) for card in CARDS]
    assert len({law.hash for law in laws}) == len(CARDS)
    assert [read_fit(to_json(law)).hash for law in laws] == [law.hash for law in laws]


@pytest.mark.parametrize("card", CARDS, ids=lambda c: c.file)
def test_a_card_is_a_fit_without_resamples(card: Card) -> None:
    fit = read_fit(json.loads(path(card.file).read_text(encoding="utf-8")))
    assert fit.resamples.shape == (0, len(fit.law.params))
    assert fit.objective is None
    assert "arXiv" in fit.data.source
    assert fit.data.ranges
    assert [w.code for w in fit.warnings] == ["published"]
    for p in fit.parameters:
        assert fit.law.param(p.name).low <= p.value <= fit.law.param(p.name).high
        assert p.ci68 is None or p.ci68[0] <= p.value <= p.ci68[1]


def test_jets_table_1_card() -> None:
    card = body("jets_table1.json")
    values = {k: (v["value"], *v["ci68"]) for k, v in card["parameters"].items()}
    assert values == {
        "E": (0.32, 0.29, 0.34),
        "A": (11.27, 8.01, 15.14),
        "alpha": (0.44, 0.40, 0.48),
        "B": (7.22, 6.66, 7.89),
        "beta": (0.22, 0.21, 0.23),
    }
    assert card["compute"] == {"rule": "6npND", "n_p": 40.0}
    assert card["data"]["ranges"] == {"N": [1126, 12627466], "D": [1e3, 1e8]}


def test_jets_table_2_cards_hold_the_four_input_configurations() -> None:
    values = {"3x40": (0.74, 5.62, 0.21), "21x10": (0.59, 8.69, 0.26), "21x40": (0.33, 7.08, 0.23)}
    for stem, published in (values | {"21x128": (0.32, 5.79, 0.22)}).items():
        fit = read_fit(body(f"jets_table2_{stem}.json"))
        assert (fit.law.key, tuple(fit.theta)) == ("repetition-D", published)
    assert body("jets_table2_21x128.json")["parameters"]["B_rep"]["ci68"] == [5.06, 6.27]


def test_allocation_cards_have_the_published_exponents_and_errors() -> None:
    by_loss, by_training = body("behavior_table4.json")["parameters"], body("behavior_table13.json")["parameters"]
    assert by_loss["k"]["value"] == pytest.approx(3.33e-4, rel=2e-3)
    assert by_loss["k_D"]["value"] == pytest.approx(499, rel=1e-3)
    # Each exponent with its standard error, from eqs. 4 and 5 and App. D of the paper.
    for card, name, value, se in (
        (by_loss, "a", 0.6175, 0.025),
        (by_loss, "b", 0.3825, 0.025),
        (by_training, "a", 0.609, 0.052),
        (by_training, "b", 0.440, 0.028),
    ):
        assert card[name]["value"] == pytest.approx(value, abs=1e-3)
        assert card[name]["se"] == pytest.approx(se, abs=5e-4)
        assert card[name]["ci68"] == pytest.approx([value - se, value + se], abs=1.5e-3)


def test_loss_along_the_allocation_is_that_of_the_papers() -> None:
    by_loss = read_fit(body("behavior_table4.json"))
    for C, loss in ((1e15, 3.914), (1e16, 3.376), (1e17, 3.108), (1e18, 2.832), (1e19, 2.641)):
        assert float(by_loss.predict({"C": C})) == pytest.approx(loss, abs=0.045)
    by_training = read_fit(body("behavior_table13.json"))
    assert float(by_training.predict({"C": 1e17})) == pytest.approx(2.485 + 1.50e3 * 1e17**-0.210, rel=1e-5)


def test_the_81_amplitude_fits_give_back_their_curves() -> None:
    """Each card gives L = K + (X_c / X)^alpha with the constants printed in the amplitude paper, Tables 2 to 15."""
    table = records("papers/amplitudes/tables02_15_fits.csv")
    assert [sum(r["x"] == x for r in table) for x in "DCN"] == [42, 36, 3]
    for row in table:
        file = card_of(row)
        fit = read_fit(body(file))
        K, X_c, alpha = (float(row[name]) for name in ("K", "X_c", "alpha"))
        x = X_c * np.geomspace(0.1, 1e4, 6)
        assert fit.law.axis == row["x"]
        assert fit.predict({row["x"]: x}) == pytest.approx(K + (X_c / x) ** alpha, rel=1e-12), file
        at = fit.law.least_compute(fit.values, np.array(K + 1e-3), ComputeRule())  # type: ignore[misc]
        assert float(getattr(at, row["x"])) == pytest.approx(X_c * 1e-3 ** (-1 / alpha), rel=1e-9)
    compute = body("amplitudes_ttH_MLP_MSE_C_D8.3e5.json")
    assert compute["data"]["ranges"] == {"C": [1e10, 1e17]}
    assert compute["parameters"]["X_c"]["value"] == 6.66e11


def test_amplitude_cards_are_data_scaling_fits_with_their_intervals() -> None:
    card = body("amplitudes_Zgg_MLP_MSE_N1e5.json")
    assert card["spec"]["axis"] == "D"
    assert {k: (v["value"], v["ci68"]) for k, v in card["parameters"].items()} == {
        "K": (3.24e-6, [2.92e-6, 14.24e-6]),
        "X_c": (10.92, [10.18, 13.22]),
        "alpha": (1.301, [1.27, 1.332]),
    }
    floorless = body("amplitudes_Zgggg_LLoCa_MSE_N6e6.json")["parameters"]
    assert floorless["K"] == {"value": 0.0, "se": None, "ci68": None, "ci95": None}
