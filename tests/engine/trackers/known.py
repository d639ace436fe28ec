"""Forty runs of a known law, in the form in which every tracker gets them, and what a right import must return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import isoplan
from isoplan.engine.fitting import Fit

E, A, B, ALPHA, BETA = 1.7, 400.0, 410.0, 0.34, 0.28
STEPS = 100
FAILED, RUNNING = (3, 17, 31), (22, 39)
"""Positions of the runs that crashed, and of those that are running. Their last loss is too high."""


def _known() -> list[dict[str, Any]]:
    """Return the runs as JSON objects: name, params, tokens, lr, state and the logged losses."""
    random = np.random.default_rng(1)
    runs = []
    for i in range(40):
        N, D = 10 ** random.uniform(6, 9), 10 ** random.uniform(8, 11)
        final = (E + A / N**ALPHA + B / D**BETA) * np.exp(0.002 * random.standard_normal())
        state = "failed" if i in FAILED else "running" if i in RUNNING else "finished"
        steps = STEPS if state == "finished" else STEPS // 2
        losses = final * (1 + 2 * (np.arange(STEPS, 0, -1) - 1) / STEPS)
        name = f"sweep a/run {i:02d}, N={N:.3g}"
        logged = losses[:steps].tolist()
        runs.append({"name": name, "params": N, "tokens": D, "lr": 1e-3, "state": state, "losses": logged})
    return runs


KNOWN = _known()


def check_known(rows: pa.Table, points: pa.Table, *, states: bool, names: bool = True) -> None:
    """Check the tables of an import of all known runs.

    ``states`` is false if the tracker does not record how runs end, and ``names`` is false if it does not record names.
    """
    table = rows.to_pandas().set_index(_column(rows, "params")).sort_index()
    expected = sorted(KNOWN, key=lambda run: run["params"])
    np.testing.assert_allclose(table.index, [run["params"] for run in expected], rtol=1e-12)
    np.testing.assert_allclose(table[_column(rows, "tokens")], [run["tokens"] for run in expected], rtol=1e-12)
    last = [run["losses"][-1] for run in expected]
    np.testing.assert_allclose(table[_column(rows, "loss", "summary.")], last, rtol=1e-6)
    if states:
        assert table["status"].tolist() == [run["state"] for run in expected]
    else:
        assert set(table["status"]) == {"unknown"}
    if names:
        assert table["run"].tolist() == [run["name"] for run in expected]
    curves = points.to_pandas().astype({"run": str})
    loss = next(name for name in points.column_names if name.endswith("loss"))
    by_run = {name: curve.dropna(subset=[loss]) for name, curve in curves.groupby("run")}
    for name, run in zip(table["run"], expected, strict=True):
        np.testing.assert_allclose(by_run[name][loss], run["losses"], rtol=1e-6)
        assert len(set(by_run[name]["step"])) == len(run["losses"])


def _column(rows: pa.Table, ending: str, beginning: str = "config.") -> str:
    """Return the name of the only column with this beginning and this ending."""
    (found,) = (name for name in rows.column_names if name.startswith(beginning) and name.endswith(ending))
    return found


def check_law(rows: pa.Table) -> None:
    """Check that the law of the finished runs in an imported table is the law of a plain table of these runs.

    The columns of the imported table are guessed. Rows of the other runs are left out first, because some trackers do
    not record states.
    """
    finished = [run for run in KNOWN if run["state"] == "finished"]
    plain = pd.DataFrame({"N": run["params"], "D": run["tokens"], "loss": run["losses"][-1]} for run in finished)
    table = rows.to_pandas()
    size = table[_column(rows, "params")].to_numpy()
    close = np.isclose(size[:, None], plain["N"].to_numpy()[None, :], rtol=1e-9).any(axis=1)
    np.testing.assert_allclose(_law(table[close]), _law(plain), rtol=1e-3)


def _law(table: pd.DataFrame) -> list[float]:
    fit = isoplan.fit(table, bootstrap=0)
    assert isinstance(fit, Fit)
    return [float(fit.values[name]) for name in ("E", "A", "B", "alpha", "beta")]
