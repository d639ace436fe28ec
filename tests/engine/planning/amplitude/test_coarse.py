"""Coarse targets: the smallest run of an anchor or of a published law already reaches the target."""

from __future__ import annotations

import pytest

from isoplan.data.amplitudes import best_laws, published_law, published_laws
from isoplan.engine.planning.amplitude.evidence import Anchor, PublishedLaw
from isoplan.engine.planning.amplitude.precision import number, of_mse
from isoplan.engine.planning.amplitude.reply import as_document, sentence, to_json
from isoplan.engine.planning.amplitude.scaling import plan_amplitude
from isoplan.engine.planning.answer.document import to_csv, to_markdown

CHEAP = Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3, doubled=0.03)


def test_an_anchor_that_reaches_the_target_is_the_upper_end() -> None:
    plan = plan_amplitude(4, of_mse(1e-2), [CHEAP], published=best_laws())
    assert (plan.D.least, plan.D.most) == (None, 1e4)
    assert sentence(plan) == (
        "An MSE of 0.01 for 4 final-state particles needs at most 10 k phase-space points, with 100 k parameters and "
        "at most 6.0 × 10¹² FLOPs."
    )
    assert plan.D.note == "D = 10 k reaches the target"
    assert plan.warnings == ()
    body = to_json(plan)
    assert body["allocation"]["D"] | {"note": ""} == {
        "least": None, "most": 1e4, "unit": "phase-space points", "note": ""
    }  # fmt: skip
    assert '"Training points D, at most",10000.0,' in to_csv(as_document(plan))
    assert "Training points D, at most" in to_markdown(as_document(plan))
    equal = plan_amplitude(4, of_mse(1e-3), [CHEAP], published=best_laws())
    assert equal.D.least == equal.D.most == 1e4


@pytest.mark.parametrize("mse", [0.02, 0.5, 0.999])
@pytest.mark.parametrize("law", published_laws(), ids=lambda law: f"{law.process}-{law.axis}-{law.held}-{law.network}")
def test_a_published_law_gives_no_number_below_its_onset_or_its_runs(law: PublishedLaw, mse: float) -> None:
    if mse <= law.floor or law.raw:
        return
    plan = plan_amplitude(law.n_f, of_mse(mse), law=law)
    for need, size in ((one, getattr(plan, one.axis)) for one in plan.needs):
        least = {"D": 1e3, "C": 1e12, "N": 1e2}[need.axis]
        assert size.most >= least
        assert size.least is None or size.least >= least
        assert size.least is not None or f"at most {number(size.most, size.unit)}" in sentence(plan)


def test_a_published_law_answers_a_target_above_its_onset() -> None:
    law = published_law("Zggg")
    plan = plan_amplitude(4, of_mse(3e-3), law=law)
    assert plan.D.least == plan.D.most == pytest.approx(float(law.fit.values["X_c"]) * 3e-3 ** (-1 / law.alpha))
    assert not plan.needs[0].reached
