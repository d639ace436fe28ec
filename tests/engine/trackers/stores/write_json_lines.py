"""Write the known runs as training scripts do: logs of JSON objects with the standard library."""

import json
import logging
import sys
from pathlib import Path

folder, layout = Path(sys.argv[1]), sys.argv[3]


def settings(run):
    """Return the settings of a script, as ``vars(parser.parse_args())`` does."""
    return {"params": run["params"], "tokens": run["tokens"], "lr": run["lr"], "steps": 100, "out": None, "bf16": True}


def write_logs(run):
    """Write one log with lines of the package logging, and the settings as its first object."""
    file = folder / f"{run['name']}.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger(run["name"])
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.info("device: cuda {'fast': True}")
    logger.info(json.dumps({"config": settings(run)}))
    for step, loss in enumerate(run["losses"]):
        logger.info(json.dumps({"step": step, "val": {"loss": loss}, "lr": run["lr"]}))
    if run["state"] == "failed":
        logger.error("RuntimeError: CUDA error {out of memory}")
    handler.close()


def write_folders(run):
    """Write a folder with params.txt, metrics.jsonl and the results of an evaluation, as Open-LM does."""
    path = folder / run["name"]
    path.mkdir(parents=True)
    (path / "params.txt").write_text("".join(f"{key}: {value}\n" for key, value in settings(run).items()))
    with (path / "metrics.jsonl").open("w") as file:
        for step, loss in enumerate(run["losses"]):
            file.write(json.dumps({"iteration": step, "split": "val", "loss": loss}) + "\n")
    (path / "stats_final.json").write_text(json.dumps({"seconds": 5.0, "eval": {"top1_acc": 0.5}}))


for run in json.load(sys.stdin):
    {"logs": write_logs, "folders": write_folders}[layout](run)
