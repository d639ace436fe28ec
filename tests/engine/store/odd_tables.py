"""Thirty run tables as people have them, generated from 36 runs of a known law.

Each function returns the bytes of one file, the same on every call. ``THIRTY`` lists the tables with their file names,
and ``runs_of`` returns the runs that a right reading gives.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import openpyxl  # type: ignore[import-untyped]
import pandas as pd

from tests.engine.store.usual.conftest import RUNS, history

N, D, LOSS = RUNS.N, RUNS.D, RUNS.loss
LN2 = float(np.log(2))
ERROR = (0.05 + 12 / N**0.3 + 12 / D**0.28) * (LOSS / LOSS.mean()) ** 0.01
"""Error rates of the runs, for the table of accuracies."""


class Table(NamedTuple):
    """A file: its name, a function that returns its bytes, and the runs (columns N, D and loss) in it."""

    name: str
    content: Callable[[], bytes]
    runs: Callable[[], pd.DataFrame] = lambda: RUNS


def csv_of(frame: pd.DataFrame, **options: Any) -> bytes:
    return bytes(frame.to_csv(index=False, **options).encode())


def sheet_of(rows: Sequence[Sequence[Any]], merged: Sequence[str] = ()) -> bytes:
    """Return an Excel file with one sheet; ``merged`` are the ranges of merged cells."""
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(list(row))
    for cells in merged:
        book.active.merge_cells(cells)
    book.save(buffer)
    return buffer.getvalue()


def _names(count: int = 36) -> list[str]:
    return [f"run-{i:02d}" for i in range(count)]


def _plain(**more: Any) -> pd.DataFrame:
    return pd.DataFrame({"params": N, "tokens": D, "val_loss": LOSS, **more})


def _with_failed(frame: pd.DataFrame, states: Sequence[str], column: str, loss: str) -> bytes:
    """Return a table with one more row for each of the ``states``: runs that stopped early, with a high loss."""
    failed = frame.iloc[: len(states)].copy()
    failed[column], failed[loss] = list(states), failed[loss] + 2.5
    return csv_of(pd.concat([frame, failed], ignore_index=True))


def wandb_export() -> bytes:
    lead = {"Name": _names(), "State": "finished", "Created": "2026-05-01T10:00:00.000Z", "Runtime": 3600, "Tags": ""}
    return _with_failed(
        pd.DataFrame(lead).join(_plain(train_loss=LOSS - 0.02)), ["crashed", "failed"], "State", "val_loss"
    )


def wandb_dicts() -> bytes:
    """The summary and the configuration as dictionaries, as the script in the documentation of W&B saves them."""
    rows = [
        {
            "summary": str({"_step": 1000, "_runtime": 3600.5, "val_loss": loss, "train_loss": loss - 0.02}),
            "config": str(
                {"lr": 3e-4, "params": int(n), "tokens": int(d), "optimizer": {"name": "adamw", "eps": 1e-8}}
            ),
            "name": name,
        }
        for n, d, loss, name in zip(N, D, LOSS, _names(), strict=True)
    ]
    return bytes(pd.DataFrame(rows).to_csv().encode())


def flat_dicts() -> bytes:
    frame = _plain().rename(
        columns={"params": "config.params", "tokens": "config.tokens", "val_loss": "summary.val_loss"}
    )
    return csv_of(frame.assign(name=_names()))


def mlflow_runs() -> bytes:
    ids = [f"{i:032x}" for i in range(36)]
    frame = pd.DataFrame(
        {"run_id": ids, "experiment_id": 1, "status": "FINISHED", "artifact_uri": "mlflow-artifacts:/1"}
    )
    frame = frame.assign(start_time="2026-05-01 10:00:00+00:00", end_time="2026-05-01 11:00:00+00:00")
    frame["metrics.val_loss"], frame["params.params"], frame["params.tokens"] = LOSS, N, D
    frame["tags.mlflow.runName"] = _names()
    return _with_failed(frame, ["FAILED", "RUNNING"], "status", "metrics.val_loss")


def tensorboard_scalar() -> bytes:
    steps = np.arange(1, 101) * 10
    return csv_of(pd.DataFrame({"Wall time": 1.7e9 + steps, "Step": steps, "Value": 2 + 8 / np.sqrt(steps)}))


def tensorboard_long() -> bytes:
    rows = []
    for name, n, d, loss in zip(_names(), N, D, LOSS, strict=True):
        rows += [(name, "params", 0, n), (name, "tokens", 0, d)]
        rows += [(name, "val_loss", 250 * k, loss + 0.3 * (4 - k)) for k in range(1, 5)]
    return csv_of(pd.DataFrame(rows, columns=["run", "tag", "step", "value"]))


def trainer_state() -> bytes:
    log = [{"epoch": k / 10, "loss": 2 + 8 / k, "learning_rate": 1e-4, "step": 100 * k} for k in range(1, 11)]
    state = {
        "best_metric": None,
        "epoch": 1.0,
        "global_step": 1000,
        "log_history": [*log, {"eval_loss": 2.9, "step": 1000}],
    }
    return json.dumps(state | {"max_steps": 1000, "num_train_epochs": 1, "train_batch_size": 8}, indent=2).encode()


def lightning_metrics() -> bytes:
    steps = np.arange(10) * 100 + 99
    train = pd.DataFrame({"epoch": np.arange(10), "step": steps, "train_loss": 2 + 800 / steps})
    held = pd.DataFrame({"epoch": np.arange(10), "step": steps, "val_loss": 2.1 + 800 / steps})
    return csv_of(
        pd.concat([train, held]).sort_values("step", kind="stable")[["epoch", "step", "train_loss", "val_loss"]]
    )


def optuna_trials() -> bytes:
    frame = pd.DataFrame({"number": np.arange(36), "value": LOSS, "datetime_start": "2026-05-01 10:00:00"})
    frame = frame.assign(datetime_complete="2026-05-01 11:00:00", duration="0 days 01:00:00", params_lr=3e-4)
    frame = frame.assign(user_attrs_params=N, user_attrs_tokens=D, state="COMPLETE")
    return _with_failed(frame, ["PRUNED", "FAIL", "PRUNED"], "state", "value")


def pivot() -> bytes:
    grid = RUNS.pivot(index="N", columns="D", values="loss")
    lines = [["N \\ D", *(f"{d:.0f}" for d in grid.columns)]]
    lines += [
        [f"{n:.0f}", *(f"{loss:.6f}" for loss in row)] for n, row in zip(grid.index, grid.to_numpy(), strict=True)
    ]
    return "\n".join(map(",".join, [*lines, []])).encode()


def _short(x: float) -> str:
    return f"{x / 1e9:.6g}B" if x >= 1e9 else f"{x / 1e6:.6g}M"


def suffixes() -> bytes:
    return csv_of(_plain(params=N.map(_short), tokens=D.map(_short)))


def suffix_runs() -> pd.DataFrame:
    """The runs with N and D rounded as in ``suffixes``."""
    scale = {"M": 1e6, "B": 1e9}
    return RUNS.assign(**{k: RUNS[k].map(_short).map(lambda t: float(t[:-1]) * scale[t[-1]]) for k in ("N", "D")})


def header_units() -> bytes:
    return csv_of(pd.DataFrame({"Params (M)": N / 1e6, "Tokens (B)": D / 1e9, "Val loss": LOSS}))


def perplexity() -> bytes:
    return csv_of(pd.DataFrame({"params": N, "tokens": D, "val_ppl": np.exp(LOSS)}))


def accuracy() -> bytes:
    return csv_of(pd.DataFrame({"params": N, "images_seen": D, "top1_acc": 100 * (1 - ERROR)}))


def pf_days() -> bytes:
    return csv_of(pd.DataFrame({"params": N, "compute_pf_days": 6 * N * D / 8.64e19, "loss": LOSS}))


def gpu_hours() -> bytes:
    return csv_of(_plain(gpu_hours=6 * N * D / (989.5e12 * 0.4 * 3600)))


def petaflop() -> bytes:
    return csv_of(_plain(petaflop=6 * N * D / 1e15))


def three_seeds() -> bytes:
    return csv_of(
        seed_runs()
        .rename(columns={"N": "params", "D": "tokens", "loss": "val_loss"})
        .assign(seed=np.tile([0, 1, 2], 36))
    )


def seed_runs() -> pd.DataFrame:
    """Three runs for each run, which differ in the seed."""
    rows = RUNS.loc[np.repeat(np.arange(36), 3)].reset_index(drop=True)
    return rows.assign(loss=rows.loss * np.tile([0.999, 1.0, 1.001], 36))


def missing_losses() -> bytes:
    cells = [f"{loss:.6f}" for loss in LOSS]
    cells[3], cells[10], cells[17], cells[25] = "NaN", "inf", "", "diverged"
    return csv_of(_plain(val_loss=cells))


def finite_runs() -> pd.DataFrame:
    """The runs with a loss in ``missing_losses``."""
    return RUNS.drop(index=[3, 10, 17, 25])


def bits_per_byte() -> bytes:
    return csv_of(pd.DataFrame({"params": N, "tokens": D, "val_bpb": LOSS / LN2 / 4.2}))


def epochs_of_dataset() -> bytes:
    size = 3e8
    return csv_of(pd.DataFrame({"params": N, "epochs": D / size, "dataset_size": size, "val_loss": LOSS}))


def epochs_and_steps() -> bytes:
    steps = D / (256 * 1024)
    frame = {"params": N, "epochs": 1, "steps": steps, "batch_size": 256, "seq_len": 1024, "eval_loss": LOSS}
    return csv_of(pd.DataFrame(frame))


def european() -> bytes:
    def comma(x: float) -> str:
        return f"{x:.6f}".replace(".", ",")

    def grouped(x: float) -> str:
        return f"{x:,.0f}".replace(",", ".")

    return csv_of(_plain(params=N.map(grouped), tokens=D.map(grouped), val_loss=LOSS.map(comma)), sep=";")


def titled_sheet() -> bytes:
    rows: list[list[object]] = [["Scaling sweep, spring 2026"], [], ["run", "params", "tokens", "val loss"]]
    rows += [list(row) for row in zip(_names(), N, D, LOSS, strict=True)]
    return sheet_of([*rows, ["Total", float(N.sum()), float(D.sum()), float(LOSS.mean())]])


def two_counts() -> bytes:
    return csv_of(_plain(train_loss=LOSS - 0.05, non_embedding_params=0.8 * N))


def logarithms() -> bytes:
    return csv_of(pd.DataFrame({"log10_N": np.log10(N), "log10_D": np.log10(D), "loss": LOSS}))


def json_records() -> bytes:
    return json.dumps(_plain(run=_names()).to_dict("records")).encode()


def curve_rows() -> bytes:
    return csv_of(history().rename(columns={"N": "params", "D": "tokens", "loss": "val_loss"}))


def steps_and_batches() -> bytes:
    frame = {"params": N, "steps": D / (512 * 2048), "batch_size": 512, "seq_len": 2048, "val_loss": LOSS}
    return csv_of(pd.DataFrame(frame))


def unstated_units() -> bytes:
    return csv_of(_plain(params=N / 1e6, tokens=D / 1e9))


THIRTY: dict[int, Table] = {
    1: Table("wandb_export.csv", wandb_export),
    2: Table("project.csv", wandb_dicts),
    3: Table("flat.csv", flat_dicts),
    4: Table("mlflow.csv", mlflow_runs),
    5: Table("run-tag-loss.csv", tensorboard_scalar),
    6: Table("scalars.csv", tensorboard_long),
    7: Table("trainer_state.json", trainer_state),
    8: Table("metrics.csv", lightning_metrics),
    9: Table("trials.csv", optuna_trials),
    10: Table("pivot.csv", pivot),
    11: Table("suffixes.csv", suffixes, suffix_runs),
    12: Table("units.csv", header_units),
    13: Table("perplexity.csv", perplexity),
    14: Table("accuracy.csv", accuracy, lambda: RUNS.assign(loss=ERROR)),
    15: Table("pf_days.csv", pf_days),
    16: Table("gpu_hours.csv", gpu_hours),
    17: Table("petaflop.csv", petaflop),
    18: Table("seeds.csv", three_seeds, seed_runs),
    19: Table("missing.csv", missing_losses, finite_runs),
    20: Table("bits.csv", bits_per_byte, lambda: RUNS.assign(loss=LOSS / LN2 / 4.2)),
    21: Table("epochs.csv", epochs_of_dataset),
    22: Table("steps_epochs.csv", epochs_and_steps),
    23: Table("european.csv", european),
    24: Table("sheet.xlsx", titled_sheet),
    25: Table("two_counts.csv", two_counts),
    26: Table("logarithms.csv", logarithms),
    27: Table("records.json", json_records),
    28: Table("history.csv", curve_rows),
    29: Table("steps.csv", steps_and_batches),
    30: Table("unstated.csv", unstated_units),
}
