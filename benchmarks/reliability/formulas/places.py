"""Places where a user types a formula or a number. Each place is a function that returns the value of a typed text."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from isoplan.app.cli import main
from isoplan.app.views.tables.rows import with_range
from isoplan.engine.amounts import GIGABYTES, HOURS, SAMPLES, money, parse_amount
from isoplan.engine.arrays import Floats
from isoplan.engine.costs.rule import compute_rule
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.quantities import parse_flops, parse_number, parse_share
from isoplan.engine.schema import Roles, Runs
from isoplan.engine.store.columns import derive
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.tables.condition import check
from isoplan.trainers.ranges import expand, read_typed

ROWS = 100_000
"""Number of rows of the table whose columns a formula uses."""
RUNS = 40
"""Number of rows of the table that the terminal commands fit."""
THETA = 0.5
"""Value of every parameter when a typed law is evaluated."""
NAMES = ("N", "D", "batch size", "n", "log", "C")
AT = {"N": 1e6, "D": 1e8, "batch size": 64.0, "n": 3.0, "log": 2.0, "C": 6e14}
"""Values in the first row of the table, by column."""


@lru_cache(maxsize=1)
def columns() -> dict[str, Floats]:
    """Return the columns of a table with ``ROWS`` rows. The first row has the values of ``AT``."""
    random = np.random.default_rng(0)
    return {name: np.append(AT[name], AT[name] * np.exp(random.normal(size=ROWS - 1))) for name in NAMES}


@lru_cache(maxsize=1)
def _runs() -> Runs:
    table = columns()
    roles = Roles(N="N", D="D", C="C", loss="loss", hyper=("batch size", "n", "log"))
    return Runs(np.arange(ROWS), {**table, "loss": 2 + table["N"] ** -0.3}, roles, {})


def law(text: str) -> float:
    """Read the formula of a law; evaluate the law, its gradient and its LaTeX. Return its value in the first row."""
    found = FitSpec(law="formula", formula=text).read_from(_runs()).find_law()
    assert isinstance(found, FormulaLaw)
    theta = np.full(len(found.names), THETA)
    read = {axis: _runs()[axis][:1000] for axis in found.axes}
    found.formula.check(read, np.arange(1000))
    found.gradient(theta, read)
    assert found.latex
    assert found.text
    found.limit(dict.fromkeys(found.names, np.array(THETA)))
    return float(np.ravel(found.predict(theta, read))[0])


def derived(text: str) -> float:
    """Compute a role by a formula for all rows of the table. Return its value in the first row."""
    roles = Roles(derived=derive.read_derived([f"D = {text}"]))
    kinds = [Column(name, "number", ROWS, 0, ROWS) for name in NAMES]
    derive.check_derived(kinds, roles)
    found = derive.compute(roles, {name: columns()[name] for name in derive.inputs(roles)}, np.arange(ROWS))
    return float(found["D"][0])


def rule(text: str) -> float:
    """Compute C by a formula for all runs, solve the formula for D, and return C of the first run."""
    found = compute_rule("formula", 1.0, text)
    table = columns()
    others = {name: table[name] for name in ("batch size", "n", "log")}
    C = found.flops(table["N"], table["D"], others, np.arange(ROWS))
    found.samples(C[:100], table["N"][:100], {name: x[:100] for name, x in others.items()})
    assert found.text
    return float(C[0])


def number(text: str) -> float:
    """Return a typed number."""
    return parse_number(text, "batch size")


def share(text: str) -> float:
    """Return a typed fraction."""
    return parse_share(text, "utilisation")


def compute(text: str) -> float:
    """Return a typed compute budget."""
    return parse_flops(text).value


def hours(text: str) -> float:
    """Return a typed duration."""
    return parse_amount(text, "limit of time", HOURS)


def euros(text: str) -> float:
    """Return a typed sum of money."""
    return parse_amount(text, "budget", money("EUR", "hour"))


def gigabytes(text: str) -> float:
    """Return a typed amount of memory."""
    return parse_amount(text, "memory", GIGABYTES)


def samples(text: str) -> float:
    """Return a typed number of samples."""
    return parse_amount(text, "unique samples", SAMPLES)


def filtered(text: str) -> float:
    """Read the typed lower end of a filter range, and return the number in the resulting filter condition."""
    condition = with_range("", "N", text, "")
    assert check(condition, NAMES)
    return float(condition.rpartition(">= ")[2])


def swept(text: str) -> float:
    """Read the typed numbers for a field of a grid, and return their sum."""
    return math.fsum(float(x) for x in expand(read_typed(text, "number", "width"), "number"))


def named(text: str) -> float:
    """Read the typed texts for a field of a grid, and return the number of texts."""
    return float(len(expand(read_typed(text, "text", "variant"), "text")))


def fitted(text: str) -> float:
    """Run ``isoplan fit --formula`` as a whole command and return its exit code."""
    return _isoplan(f"--formula={text}", "--law", "formula", "--bootstrap", "20")


def ruled(text: str) -> float:
    """Run ``isoplan fit --rule`` as a whole command and return its exit code."""
    return _isoplan(f"--rule={text}", "--law", "power", "--axis", "C", "--bootstrap", "20")


def given(text: str) -> float:
    """Run ``isoplan fit --derive`` as a whole command and return its exit code."""
    return _isoplan(f"--derive=U = {text}", "--law", "power", "--axis", "N", "--bootstrap", "20")


def _isoplan(*options: str) -> float:
    """Run a command on a small table in the current folder and return its exit code.

    If the command is refused, SystemExit is raised after the message is written to standard error.
    """
    table = {name: x[:RUNS] for name, x in columns().items() if name != "C"}
    loss = 1.7 + 400 * table["N"] ** -0.34 + 900 * table["D"] ** -0.3
    head = ",".join([*table, "loss"])
    np.savetxt("runs.csv", np.column_stack([*table.values(), loss]), "%.6g", ",", header=head, comments="")
    sys.argv = ["isoplan", "fit", str(Path("runs.csv").resolve()), *options]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    return 0.0


PLACES: dict[str, Callable[[str], float]] = {
    "formula of a law": law,
    "formula of a role": derived,
    "formula of compute": rule,
    "number": number,
    "share": share,
    "budget": compute,
    "hours": hours,
    "money": euros,
    "memory": gigabytes,
    "samples": samples,
    "range of a filter": filtered,
    "values of a grid": swept,
    "texts of a grid": named,
    "isoplan fit --formula": fitted,
    "isoplan fit --rule": ruled,
    "isoplan fit --derive": given,
}
