"""Tests of the validation of laws that are fitted to training curves."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec
from isoplan.engine.fitting.estimators.envelope import lower_envelope
from isoplan.engine.fitting.samples.curve_tables import shaped
from isoplan.engine.fitting.validation.extrapolation import validate_read_off
from tests.engine.fitting.test_threshold import SPEC as CELLS
from tests.engine.fitting.test_threshold import cells
from tests.engine.fitting.test_updates import SPEC as BATCHES
from tests.engine.fitting.test_updates import curves as batch_curves
from tests.engine.fitting.training import NOBODY, surface_curves

ENVELOPE = FitSpec(law="envelope", bootstrap=0, smoothing=0)


def test_an_envelope_of_the_smaller_compute_predicts_the_larger() -> None:
    runs = shaped(ENVELOPE, NOBODY, surface_curves(16, 60))
    heard: list[float] = []
    found = validate_read_off(ENVELOPE, runs, heard.append)
    assert (found.size, found.laws, len(found.cuts)) == ("C", ("envelope", "chinchilla"), 3)
    for cut in found.cuts:
        assert (found.runs["C"][cut.held] > cut.limit).all()
        assert (cut.beyond > 0).all()
    assert found.furthest == pytest.approx(0.45 * np.log10(found.runs["C"][-1] / found.runs["C"][0]), rel=0.02)
    assert found.error("chinchilla") < 1e-4
    assert found.error("envelope") < 0.03 < found.error("last point")
    assert found.targets(found.laws) == "runs"
    assert heard[-1] == 1.0


def test_the_largest_batches_are_predicted() -> None:
    found = validate_read_off(BATCHES, shaped(BATCHES, NOBODY, batch_curves()))
    assert found.size == "B"
    assert found.error("critical-batch-B") == pytest.approx(0, abs=1e-6)
    assert found.error("last point") > 0.1


def test_what_cannot_be_left_out_is_said() -> None:
    with pytest.raises(PlannerError, match="predicts no loss, so its extrapolation cannot be tested"):
        validate_read_off(CELLS, cells())
    both = shaped(ENVELOPE, NOBODY, surface_curves(2, 60))
    found = lower_envelope(ENVELOPE, both)
    overtaken = found.C[found.N == found.N.max()].min()
    few = both.take(both["C"] <= 1.3 * overtaken)  # The larger model has the lower loss only at the largest compute.
    with pytest.raises(PlannerError, match="The envelope at the largest compute cannot be predicted"):
        validate_read_off(ENVELOPE, few)
