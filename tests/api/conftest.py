"""Tables, fits and commands for the tests of the Python API."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isoplan as ip
from isoplan.app import cli
from isoplan.engine.fitting import Fit, GroupedFit
from tests.compiled import compiled as compiled
from tests.conftest import ROOT
from tests.engine.planning.conftest import EPOCH

GRIDS = ROOT / "data" / "grids"
SHARES, CELLS, ONE_PASS, REPEATED, CURVES, MINIMA = (
    GRIDS / f"{name}.csv"
    for name in (
        *("behavior_share", "amplitudes_data", "jets_one_pass", "jets_repeated", "jets_curves", "behavior_allocation"),
    )
)
FEW = ("--bootstrap", 30)
ROLES: dict[str, Any] = {"N": "size", "D": "seen", "loss": "quality"}
MAP = ("--map", "N=size,D=seen,loss=quality")
MACHINE: dict[str, Any] = {"device": "H200", "devices": 8, "hour_price": "3 EUR", "utilisation": "35%"}
MACHINE_OPTIONS = ("--device", "H200", "--devices", 8, "--hour-price", "3 EUR", "--utilisation", "35%")


def isoplan(*arguments: object) -> str:
    """Run the command in this process and return its standard output."""
    printed, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["isoplan", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    assert not stopped.value.code, errors.getvalue()
    return printed.getvalue()


def printed_json(*arguments: object) -> dict[str, Any]:
    """Run the command and return the JSON object that it prints."""
    read: dict[str, Any] = json.loads(isoplan(*arguments, "--json"))
    return read


def as_json(body: object) -> Any:
    """Convert ``body`` to JSON and back. The result is what a reader of the JSON gets."""
    return json.loads(json.dumps(body, allow_nan=False))


def single(fit: Fit | GroupedFit) -> Fit:
    """Return ``fit`` after a check that it is not a fit of groups."""
    assert isinstance(fit, Fit)
    return fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write tables of runs, and the fits that the terminal prints for these tables. Return the folder.

    The runs follow known laws with a common floor.
    """
    path, random = tmp_path_factory.mktemp("api"), np.random.default_rng(1)
    N, D, U = 10 ** random.uniform(7, 10, 20), 10 ** random.uniform(9, 12, 20), np.geomspace(1e7, 1e10, 16)
    E, A, B, alpha, beta = EPOCH
    loss = (E + A * N**-alpha + B * D**-beta) * np.exp(random.normal(0, 0.003, 20))
    runs = {"size": N, "seen": D, "quality": loss, "acc": 1 / loss, "flops": 7.5 * N**1.05 * D**0.95}
    pd.DataFrame(runs | {"kind": ["a", "b"] * 10}).to_csv(path / "runs.csv", index=False)
    stops = (E + 60 * U**-0.25) * np.exp(random.normal(0, 0.002, 16))
    pd.DataFrame({"U": U, "loss": stops, "N": 1e6}).to_csv(path / "stops.csv", index=False)
    asked = {
        "one_pass": ("fit", path / "runs.csv", "--law", "chinchilla", *MAP, "--map", "C="),
        "repeated": ("fit", path / "stops.csv", "--law", "repetition", "--axis", "U", "--where", "U > 2e7"),
        "map": ("fit", path / "runs.csv", "--law", "metric-map", "--axis", "loss", "--y", "acc:max", *MAP),
    }
    for name, arguments in asked.items():
        (path / f"{name}.json").write_text(isoplan(*arguments, *FEW, "--json"))
    return path


@pytest.fixture(scope="module")
def one_pass(folder: Path) -> Fit:
    """Return a fit of the law ``chinchilla`` to runs with a single pass over the data."""
    return single(ip.fit(ip.runs(folder / "runs.csv", C=None, **ROLES), "chinchilla", bootstrap=30))


@pytest.fixture(scope="module")
def repeated(folder: Path) -> Fit:
    """Return a fit of the law ``repetition`` to runs with repeated data, each at its early stop."""
    return single(ip.fit(ip.runs(folder / "stops.csv", where="U > 2e7"), "repetition", axis="U", bootstrap=30))


@pytest.fixture(scope="module")
def metric_map(folder: Path) -> Fit:
    """Return a fit of the accuracy as a function of the loss."""
    runs = ip.runs(folder / "runs.csv", metric="acc:max", **ROLES)
    return single(ip.fit(runs, "metric-map", axis="loss", y="acc", bootstrap=30))
