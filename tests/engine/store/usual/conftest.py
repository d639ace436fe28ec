"""Fixtures that write runs of a known law as a table, and checks of the runs that are read from the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.schema import Runs
from isoplan.engine.store.files.table_files import read_runs

ALPHA, BETA, E = 0.34, 0.28, 1.69
SPEC = FitSpec(bootstrap=0)
Write = Callable[..., Path]


def truth() -> pd.DataFrame:
    """Return 36 runs of L = E + A / N^alpha + B / D^beta with 0.3 % noise."""
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(2e7, 7e9, 6).round(), np.geomspace(3e8, 1.2e11, 6).round()))
    noise = np.random.default_rng(7).normal(0, 0.003, len(N))
    loss = (E + 406.4 / N**ALPHA + 410.7 / D**BETA) * np.exp(noise)
    return pd.DataFrame({"N": N, "D": D, "loss": loss})


RUNS = truth()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(**columns: Any) -> Path:
        path = tmp_path / "runs.csv"
        pd.DataFrame(columns).to_csv(path, index=False)
        return path

    return to_file


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Return the parameters that are fitted to the plain table, with columns N, D and loss."""
    path = tmp_path_factory.mktemp("plain") / "runs.csv"
    RUNS.to_csv(path, index=False)
    fitted = values(fit(SPEC, read_runs(path)))
    assert fitted == pytest.approx({"alpha": ALPHA, "beta": BETA, "E": E}, abs=0.05)
    return fitted


def values(fitted: Fit) -> dict[str, float]:
    return {name: float(fitted.values[name]) for name in ("alpha", "beta", "E")}


def check(runs: Runs, right: dict[str, float], scale: float = 1.0) -> None:
    """Check that a fit to ``runs`` gives the parameters ``right`` of the plain table. E is multiplied by ``scale``."""
    assert len(runs) == 36
    expected = right | {"E": right["E"] * scale}
    assert values(fit(SPEC, runs)) == pytest.approx(expected, rel=2e-3)


def refused(path: Path, expected: str, mapping: dict[str, str] | None = None) -> None:
    with pytest.raises(PlannerError) as error:
        fit(SPEC, read_runs(path, mapping))
    assert expected in str(error.value)


def history(**more: Any) -> pd.DataFrame:
    """Return a table with five rows per run, in training order. The last row equals the run in the plain table."""
    rows = RUNS.loc[np.repeat(np.arange(36), 5)].reset_index(drop=True)
    part = np.tile([0.2, 0.4, 0.6, 0.8, 1.0], 36)
    loss = rows.loss + 0.8 * (1 / part - 1)
    return rows.assign(
        D=rows.D * part, loss=loss, run=[f"r{i // 5}" for i in range(180)], step=(part * 1000).round(), **more
    )
