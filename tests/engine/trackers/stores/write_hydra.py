"""Write the known runs with a multirun of Hydra: one job per run."""

import csv
import json
import os
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

folder = Path(sys.argv[1])
settings = folder.parent / f"{folder.name} settings"
runs = json.load(sys.stdin)
(settings / "run").mkdir(parents=True)
for i, run in enumerate(runs):
    chosen = {"index": i, "params": run["params"], "data": {"tokens": run["tokens"]}, "lr": run["lr"]}
    (settings / "run" / f"r{i}.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(chosen)))
(settings / "config.yaml").write_text(
    "defaults: [_self_, run: r0]\n"
    "seed: ???\nsize: ${run.params}\ntitle: lr ${run.lr}\nhome: ${oc.env:HOME}\ncopy: ${run}\n"
    "directory: ${hydra:runtime.cwd}\n"
)


@hydra.main(version_base=None, config_path=str(settings), config_name="config")
def train(config: DictConfig) -> None:
    """Write the losses of a run to a CSV file in the folder of the job, and the last loss to a JSON file."""
    run = runs[config.run.index]
    with open("metrics.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "val_loss", "lr"])
        writer.writerows([step, loss, run["lr"]] for step, loss in enumerate(run["losses"]))
    Path("results.json").write_text(json.dumps({"seconds": 3.5, "val_loss": run["losses"][-1]}))


os.chdir(folder)
choice = ",".join(f"r{i}" for i in range(len(runs)))
sys.argv = ["app.py", "--multirun", f"run={choice}", "+tag=a b", "hydra.job.chdir=true"]
train()
