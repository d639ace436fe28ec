"""Script that writes the law cards from the papers' tables: ``python -m benchmarks.bundled.cards``.

A card has the JSON format of ``isoplan fit --json``. It contains central values and published intervals, but no
resamples.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.bundled.demo import DATA, JETS, parameters
from isoplan.data.amplitudes import card_of
from isoplan.data.files import records
from isoplan.engine.arrays import Floats

Json = dict[str, Any]

JETS_PAPER = "Neural scaling laws for boosted jet tagging, arXiv:2602.15781"
BEHAVIOR_PAPER = "Scaling laws for behavioral foundation models over user event sequences, arXiv:2606.05257"
AMPLITUDES_PAPER = "Scaling laws for amplitude surrogates, arXiv:2601.13308"
PUBLISHED = (
    "This law is published without the correlations of its parameters: a number derived from it has no interval."
)
COMPUTE = {"rule": JETS.rule, "n_p": JETS.n_p}
PROCESSES = {"ttH": "tt̄H", "yyg": "γγg", "yygg": "γγgg"}


def parameter(value: float, low: float | None = None, high: float | None = None, se: float | None = None) -> Json:
    """Return the JSON of one parameter, with its published 68 % interval if both ``low`` and ``high`` are given."""
    ci68 = None if low is None or high is None else [round_off(low), round_off(high)]
    return {"value": value, "se": se, "ci68": ci68, "ci95": None}


def around(value: float, se: float) -> Json:
    """Return the JSON of a parameter with its published standard error ``se`` and its 68 % interval (± ``se``)."""
    return parameter(value, value - se, value + se, float(f"{se:.6g}"))


def round_off(x: float) -> float:
    """Round ``x`` to twelve significant digits, which removes the rounding errors of binary arithmetic."""
    return float(f"{x:.12g}")


def card(law: str, parameters: Json, source: str, ranges: Json, **more: Any) -> Json:
    """Return the JSON of a published law. ``more`` may contain n, axis, roles and compute."""
    spec: Json = {"law": law, "bootstrap": 0} | ({"axis": more["axis"]} if "axis" in more else {})
    return {
        "schema": 1,
        "law": law,
        "n": more.get("n", 0),
        "objective": None,
        "parameters": parameters,
        "resamples": [],
        "data": {"source": source, "sha256": "", "roles": more.get("roles", {}), "ranges": ranges},
        "compute": more.get("compute", {"rule": "6ND", "n_p": 1.0}),
        "warnings": [{"code": "published", "text": PUBLISHED}],
        "spec": spec,
    }


def power_of_compute(C: Floats, y: Floats) -> tuple[float, float, float]:
    """Fit y = k C^b by least squares in log y; return k, b and the standard error of b."""
    x = np.log(C)
    design = np.stack([np.ones_like(x), x], axis=1)
    (log_k, b), rss, _, _ = np.linalg.lstsq(design, np.log(y))
    se = np.sqrt(rss[0] / (len(x) - 2) / np.sum((x - x.mean()) ** 2))
    return float(np.exp(log_k)), float(b), float(se)


def loss_along_minima(C: Floats, loss: Floats) -> tuple[float, float, float]:
    """Fit loss = E + (C_L / C)^gamma by least squares; return E, C_L and gamma.

    For each gamma of a grid, E and C_L are computed by a linear fit. The result is the fit with the smallest residual.
    """

    def solve(gamma: float) -> tuple[float, Floats]:
        design = np.stack([np.ones_like(C), (C / C[0]) ** -gamma], axis=1)
        solution, rss, _, _ = np.linalg.lstsq(design, loss)
        return float(rss[0]), solution

    gamma = float(min(np.linspace(0.01, 1.0, 9901), key=lambda g: solve(g)[0]))
    E, scale = solve(gamma)[1]
    return float(E), float(C[0] * scale ** (1 / gamma)), gamma


def rounded(*parameters: tuple[str, float]) -> Json:
    """Return the JSON of derived parameters without a published error, rounded to six significant digits."""
    return {name: parameter(float(f"{value:.6g}")) for name, value in parameters}


def jets() -> Json:
    """Return the card of the jet paper, Table 1.

    The range of N follows from the widths in the paper. The range of D ends at the size of JetClass.
    """
    values = with_intervals(records("papers/jets/table1_scaling_law.csv"), ("E", "A", "B", "alpha", "beta"))
    widths = [int(r["width"]) for r in records("papers/jets/widths.csv")]
    ranges = {"N": [parameters(min(widths)), parameters(max(widths))], "D": datasets()}
    return card("chinchilla", values, f"{JETS_PAPER}, Table 1", ranges, compute=COMPUTE)


def with_intervals(rows: list[dict[str, str]], names: Sequence[str]) -> Json:
    """Return the JSON of the parameters ``names`` with their 68 % intervals, from the ``rows`` of a paper's table."""
    by_name = {r["parameter"]: r for r in rows}
    return {name: parameter(*(float(by_name[name][k]) for k in ("value", "ci68_lo", "ci68_hi"))) for name in names}


def datasets() -> list[float]:
    """Return the range of D in the jet paper: from the smallest dataset to all training jets of JetClass."""
    constants = {r["name"]: float(r["value"]) for r in records("papers/jets/jets_constants.csv")}
    return [constants["dataset_min"], constants["train_jets"]]


def jets_repeated(inputs: str) -> Json:
    """Return the card of the jet paper, Table 2, for one input configuration.

    D counts unique jets, which are repeated until early stopping.
    """
    rows = [r for r in records("papers/jets/table2_repetition.csv") if r["inputs"] == inputs]
    values, ranges = with_intervals(rows, ("L_inf", "B_rep", "beta_rep")), {"D": datasets()}
    return card("repetition", values, f"{JETS_PAPER}, Table 2", ranges, axis="D", compute=COMPUTE)


def allocation(table: str, rows: list[dict[str, str]], loss: Json) -> Json:
    """Return the card of an allocation: power laws N = k C^a and D = k_D C^b through the ``rows`` of a table.

    ``loss`` is the JSON of E, C_L and gamma.
    """
    C, N, D = (np.array([float(r[k]) for r in rows]) for k in ("budget_flops", "N", "D"))
    (k, a, a_se), (k_D, b, b_se) = power_of_compute(C, N), power_of_compute(C, D)
    path = {
        **rounded(("k", k)),
        "a": around(round_off(a), a_se),
        **rounded(("k_D", k_D)),
        "b": around(round_off(b), b_se),
    }
    ranges = {name: [float(x.min()), float(x.max())] for name, x in (("N", N), ("D", D), ("C", C))}
    return card("isoflop", path | loss, f"{BEHAVIOR_PAPER}, {table}", ranges, n=len(rows))


def validation_allocation() -> Json:
    """Return the card of the behavioural paper, Table 4.

    N and D are from the minima of the iso-FLOP parabolas, and the loss is from the best run of each budget.
    """
    table = records("papers/behavior/table04_allocation.csv")
    best = [r for r in table if r["estimate"] == "grid winner"]
    C, loss = (np.array([float(r[k]) for r in best]) for k in ("budget_flops", "val_loss"))
    values = rounded(*zip(("E", "C_L", "gamma"), loss_along_minima(C, loss), strict=True))
    return allocation("Table 4", [r for r in table if r["estimate"] == "parabola"], values)


def equation(number: str) -> dict[str, float]:
    """Return the parameters of equation ``number`` of the behavioural paper, by name."""
    rows = records("papers/behavior/equations.csv")
    return {r["parameter"]: float(r["value"]) for r in rows if r["equation"] == number}


def training_allocation() -> Json:
    """Return the card of the behavioural paper, Table 13, with the loss of eq. 12: (C_L / C)^c = k C^-c."""
    law = equation("12")
    values = rounded(("E", law["E"]), ("C_L", law["k"] ** (1 / law["c"])), ("gamma", law["c"]))
    return allocation("Table 13 and eq. 12", records("papers/behavior/table13_train_surrogate.csv"), values)


def training_surface() -> Json:
    """Return the card of the behavioural paper, eq. 13, with the ranges of N and D of the best runs in Table 13."""
    rows = records("papers/behavior/table13_train_surrogate.csv")
    ranges = {k: [min(float(r[k]) for r in rows), max(float(r[k]) for r in rows)] for k in ("N", "D")}
    values = {name: parameter(value) for name, value in equation("13").items()}
    runs = next(
        float(r["value"]) for r in records("papers/behavior/behavior_constants.csv") if r["name"] == "eq13_points"
    )
    return card("chinchilla", values, f"{BEHAVIOR_PAPER}, eq. 13", ranges, n=int(runs))


def amplitude(row: dict[str, str]) -> Json:
    """Return the card of one published fit of the loss against D, C or N.

    If the paper prints a floor of about zero, the floor has no interval.
    """
    X_c, up, down = (float(row[k]) for k in ("X_c", "X_c_up", "X_c_down"))
    K = float(row["K"])
    floor = parameter(K, K - float(row["K_down"]), K + float(row["K_up"])) if row["K_up"] else parameter(K)
    values = {"K": floor, "X_c": parameter(X_c, X_c - down, X_c + up)}
    values["alpha"] = around(float(row["alpha"]), float(row["alpha_se"]))
    limits = next(
        r
        for r in records("papers/amplitudes/table01_ranges.csv")
        if (r["quantity"], r["architecture"]) == (row["x"], row["architecture"])
    )
    ranges = {row["x"]: [float(limits["low"]), float(limits["high"])]}
    return card("power", values, f"{AMPLITUDES_PAPER}, Table {row['table']}", ranges, axis=row["x"])


def amplitude_name(row: dict[str, str]) -> str:
    """Return the display name of a fit. The names of fits against D do not contain the axis."""
    process = PROCESSES.get(row["process"], row["process"])
    kind = f"{row['architecture']}, {row['training_loss']} loss, {row['fixed']} = {row['fixed_value']}"
    against = "" if row["x"] == "D" else f" against {row['x']}"
    return f"Amplitude {process}{against}: {kind} (amplitudes, Table {row['table']})"


def cards() -> dict[str, tuple[str, Json]]:
    """Return all cards: file name -> (display name, JSON)."""
    fits = sorted(records("papers/amplitudes/tables02_15_fits.csv"), key=lambda r: "DCN".index(r["x"]))
    inputs = {r["inputs"]: f"{r['features']}x{r['particles']}" for r in records("papers/jets/table2_repetition.csv")}
    repeated = {
        f"jets_table2_{stem}.json": (f"Jet tagging: repeated jets, {name} (jets, Table 2)", jets_repeated(name))
        for name, stem in inputs.items()
    }
    out = {
        "jets_table1.json": ("Jet tagging: loss over N and D (jets, Table 1)", jets()),
        **repeated,
        "behavior_table4.json": (
            "Recommender: allocation by validation loss (behavioural, Table 4)",
            validation_allocation(),
        ),
        "behavior_table13.json": (
            "Recommender: allocation by training loss (behavioural, Table 13)",
            training_allocation(),
        ),
        "behavior_eq13.json": ("Recommender: training loss over N and D (behavioural, eq. 13)", training_surface()),
    }
    for row in fits:
        out[card_of(row)] = (amplitude_name(row), amplitude(row))
    return out


def contents() -> dict[str, str]:
    """Return the files to write: file name -> text. ``index.json`` lists the display names in order."""
    made = cards()
    out = {file: json.dumps(body, indent=1) + "\n" for file, (_, body) in made.items()}
    index = [{"name": shown, "file": f"cards/{file}"} for file, (shown, _) in made.items()]
    return out | {"index.json": json.dumps(index, indent=1, ensure_ascii=False) + "\n"}


def main() -> None:
    """Rewrite the cards in ``data/cards``."""
    for name, text in contents().items():
        (DATA / "cards" / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
