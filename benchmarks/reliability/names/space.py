"""A workspace in which all names are hostile."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import numpy as np

from benchmarks.reliability.names.hostile import NAMES
from isoplan.engine.fitting import Fit, FitSpec, fit, fit_groups
from isoplan.engine.planning.actual.outcome import Actual
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.schema import Metric, Roles, Runs
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.snapshots import Snapshot

REFITS = 30
COLUMNS = {
    **{"N": NAMES[2], "D": NAMES[4], "loss": NAMES[3], "metric": NAMES[13], "second": NAMES[17], "group": NAMES[7]},
    **{"run": NAMES[5], "hyper": NAMES[15], "budget": NAMES[9], "text": NAMES[19], "note": NAMES[16]},
}
FILE = f"{NAMES[0]}.csv"
PROGRAM = "named"


ANSWERS = (1, 4, 6, 8, 14, 30)
"""Indices of the names of the saved answers, one for each kind."""


@dataclass(frozen=True)
class Space:
    """Ids of the tables and hashes of the fits and plans. The addresses of the pages need them."""

    table: str
    curves: str
    fits: dict[str, str]
    plans: tuple[str, ...]


def make(folder: Path) -> Space:
    """Fill the workspace in ``folder`` with hostile names, and return its ids and hashes."""
    with closing(open_workspace(folder)) as db:
        info = tables.add(db, grid(), FILE)
        roles = Roles(
            N=COLUMNS["N"], D=COLUMNS["D"], loss=COLUMNS["loss"], group=COLUMNS["group"], run=COLUMNS["run"],
            budget=COLUMNS["budget"], hyper=(COLUMNS["hyper"],), pooled=(COLUMNS["group"],),
            metrics=(Metric(column=COLUMNS["metric"]), Metric(column=COLUMNS["second"], direction="min")),
        )  # fmt: skip
        tables.set_roles(db, info.id, roles)
        tables.withdraw(db, info.id, [3, 4], NAMES[6])
        snapshot = snapshots.take(db, info.id)
        runs = snapshots.runs(db, snapshot)
        fits = dict(_fits(db, info.id, snapshot, runs))
        plans = tuple(_plans(db, results.fit(db, fits["surface"])))
        curves = tables.add(db, curve_points(), f"{NAMES[35]}.csv")
        tables.tie(db, curves, info.id)
        for kind, name in zip(results.list_kinds(), (NAMES[i] for i in ANSWERS), strict=True):
            results.save_answer(db, kind, {"schema": 1}, NAMES[33], {"question": [name]}, name)
        dead = tables.add(db, b"N,loss\n1e6,2\n1e7,1.5\n", "gone.csv")
        tables.rename(db, dead.id, NAMES[12])
        tables.delete(db, dead.id)
    _program(folder)
    return Space(info.id, curves.id, fits, plans)


def grid() -> bytes:
    """Return a CSV file with two groups of 6 x 6 runs. Each run has a hostile name."""
    random, names, text = np.random.default_rng(0), cycle(NAMES), io.StringIO()
    rows = csv.writer(text)
    rows.writerow(COLUMNS.values())
    sizes = [(N, D) for N in np.geomspace(1e6, 1e9, 6) for D in np.geomspace(1e8, 1e11, 6)]
    for g, group in enumerate((NAMES[10], NAMES[31])):
        for i, (N, D) in enumerate(sizes):
            loss = 1.7 + 0.1 * g + 400 * N**-0.34 + 900 * D**-0.3 + 0.001 * random.normal()
            hyper, budget = (0.1, 0.2, 0.4, 0.8)[i % 4], 10 ** round(np.log10(6 * N * D))
            numbers = (f"{x:.6g}" for x in (N, D, loss, 100 * np.exp(-loss), loss**0.5))
            rows.writerow([*numbers, group, next(names), hyper, f"{budget:g}", NAMES[25], NAMES[26 + i % 4]])
    return text.getvalue().encode()


def curve_points() -> bytes:
    """Return a CSV file with the training curves of the runs in the first group."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow((COLUMNS["run"], "step", COLUMNS["loss"]))
    for i, name in enumerate(NAMES):
        for step in (100, 200, 400, 800, 1600):
            rows.writerow((name, step, f"{2.5 + i / 100 + 3 * step**-0.4:.6g}"))
    return text.getvalue().encode()


def _fits(db: Database, table: str, snapshot: Snapshot, runs: Runs) -> Iterator[tuple[str, str]]:
    specs = {
        "surface": FitSpec(bootstrap=REFITS),
        "power": FitSpec(law="power", axis="N", bootstrap=REFITS),
        "own axis": FitSpec(law="power", axis=COLUMNS["hyper"], bootstrap=REFITS),
        "formula": FitSpec(law="formula", formula=f'E + A/N^alpha + k*"{COLUMNS["hyper"]}"', bootstrap=REFITS),
        "map": FitSpec(law="metric-map", axis="loss", y=COLUMNS["metric"], bootstrap=REFITS),
        "metric": FitSpec(y=COLUMNS["second"], bootstrap=REFITS),
    }
    for i, (key, spec) in enumerate(specs.items()):
        result = fit(spec.read_from(runs), runs, snapshot=snapshot.hash)
        saved = results.save_fit(db, result, name=NAMES[18 + i], table_id=table)
        results.note_fit(db, saved, "\n".join(NAMES[6 * i : 6 * i + 6]))
        yield key, saved
    grouped = fit_groups(FitSpec(bootstrap=REFITS, share=("beta",)), runs, snapshot=snapshot.hash)
    for i, result in enumerate(grouped.fits.values()):
        yield f"group {i}", results.save_fit(db, result, name=NAMES[28 + i], table_id=table)


def _plans(db: Database, law: Fit) -> Iterator[str]:
    for C, name in zip((1e19, 1e20, 1e21, 1e22, 1e23), NAMES[1:6], strict=True):
        plan = plan_budget(law, C)
        saved = results.save_plan(db, plan, name)
        results.save_actual(db, saved, Actual(value=2.0, note=NAMES[14], when=NAMES[8]))
        yield saved


def _program(folder: Path) -> None:
    """Write a program whose texts are all hostile, and a grid of its cells with hostile values."""
    code = "import json, sys; json.loads(sys.stdin.readline()); "
    code += "print(json.dumps({'step': 1, 'total': 1, 'loss': 2.0})); "
    code += f"print({NAMES[1]!r}); print(json.dumps({{'result': {{'loss': 1.5, {NAMES[13]!r}: 2.0}}}}))"
    text = json.dumps  # every JSON string is also a valid TOML string
    lines = [
        f"[{PROGRAM}]",
        f"title = {text(NAMES[6])}",
        f"command = {text([sys.executable, '-c', code])}",
        f"metrics = {{ {text(NAMES[13])} = 'max' }}",
        'sizes = { N = "width", D = "10*width" }',
        f"example = {{ width = {text(NAMES[2])} }}",
        f"[{PROGRAM}.fields.width]",
        'kind = "integer"',
        f"title = {text(NAMES[14])}",
        f"description = {text(NAMES[15])}",
        "default = 8",
        f"[{PROGRAM}.fields.variant]",
        'kind = "text"',
        f"title = {text(NAMES[30])}",
        'default = ""',
    ]
    (folder / "programs.toml").write_text("\n".join(lines), "utf-8")
    cells = ["family = 'named'", f"name = {text(NAMES[15])}", "[cell]", "width = [8, 16]"]
    variants = [NAMES[1], NAMES[7]]
    (folder / "grid.toml").write_text("\n".join([*cells, f"variant = {text(variants)}"]), "utf-8")
