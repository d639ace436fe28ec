"""Fixtures: a function that runs commands, a table of runs simulated from a known law, and the fit of this table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from isoplan.app import cli
from tests.app.terminal.asking import LAW, MAP, Answer, Run, process
from tests.engine.planning.conftest import EPOCH


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs ``isoplan`` with the given arguments in this process."""

    def command(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["isoplan", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return Answer(int(stopped.value.code or 0), *capsys.readouterr())

    return command


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table of 60 runs of a known law, and return its path.

    The table has an accuracy column and unusual column names.
    """
    random = np.random.default_rng(1)
    N, D = 10 ** random.uniform(7, 10, 60), 10 ** random.uniform(9, 12, 60)
    E, A, B, alpha, beta = EPOCH
    loss = (E + A * N**-alpha + B * D**-beta) * np.exp(random.normal(0, 0.003, 60))
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    columns = np.column_stack([N, D, loss, 1 / loss, np.arange(60)])
    np.savetxt(path, columns, "%.17g", ",", header="size,seen,quality,acc,step", comments="")
    return path


@pytest.fixture(scope="module")
def fitted(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the output of ``fit --json`` for the table to a file and return the path of the file."""
    made = process("fit", table, *LAW, *MAP, "--bootstrap", 200, "--json")
    assert made.returncode == 0, made.stderr
    path = tmp_path_factory.mktemp("fits") / "fit.json"
    path.write_text(made.stdout)
    return path
