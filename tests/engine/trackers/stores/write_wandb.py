"""Write the known runs with W&B in mode offline. With a word, only resume run 5 in the folder that this word names.

A killed run leaves whole blocks of 32 KB, so running runs log large histograms after their losses, until these are
written.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

folder, _, *words = sys.argv[1:]
folder = words[0] if words else folder
os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_CONSOLE": "off"}

import wandb  # noqa: E402

SETTINGS = wandb.Settings(x_disable_stats=True, x_disable_meta=True)


def start(position: int, known: dict) -> wandb.Run:
    """Start the run at a position of the known runs."""
    model = {"params": known["params"], "layers": [1, 2]}
    config = {"model": model, "tokens": known["tokens"], "lr": known["lr"], "bias": True, "later": 0}
    words = {"project": "a project", "group": "sweep", "tags": ["b", "a"], "settings": SETTINGS}
    return wandb.init(dir=folder, id=f"id{position}", name=known["name"], config=config, **words)


def log(run: wandb.Run, losses: list[float]) -> None:
    """Log losses, and values that are not metrics."""
    for i, loss in enumerate(losses):
        values = {"train": {"loss per step": 2 * loss}, "val_loss": loss, "phase": "warm"}
        run.log(values | ({"weights": wandb.Histogram([loss, 1, 2])} if i % 20 == 0 else {}))


def leave_running(run: wandb.Run) -> None:
    """End this process when the losses are on disk, without an end of the run."""
    (file,) = Path(folder).glob(f"wandb/*-{run.id}/run-{run.id}.wandb")
    while file.stat().st_size < 100_000:
        run.log({"weights": wandb.Histogram([random.random() for _ in range(100)], num_bins=512)})
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)


runs = list(enumerate(json.load(sys.stdin)))
if words:
    with start(*runs[5]) as run:
        run.log({"val_loss": 1.5}, step=100)
    raise SystemExit

for position, known in runs:
    if known["state"] == "running" and not (child := os.fork()):
        run = start(position, known)
        log(run, known["losses"])
        leave_running(run)
    elif known["state"] == "running":
        os.waitpid(child, 0)
for position, known in runs:
    if known["state"] != "running":
        run = start(position, known)
        log(run, known["losses"])
        run.config.update({"later": 7}, allow_val_change=True)
        run.finish(exit_code=int(known["state"] == "failed"))
