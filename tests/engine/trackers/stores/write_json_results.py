"""Write the known runs as scripts of evaluations do: one JSON object per run."""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])

for run in json.load(sys.stdin):
    file, losses = folder / f"{run['name']}.json", run["losses"]
    file.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "config": {"model": {"params": run["params"], "layers": [2, 4]}, "optimizer": {"lr": run["lr"]}},
        "tokens": run["tokens"],
        "metrics": {"c4_loss": losses[-1], "top1_acc": 0.5},
        "history": {"step": list(range(len(losses))), "val_loss": losses},
        "created": "2026-11-01",
    }
    file.write_text(json.dumps(result, indent=2))
(folder / "package.json").write_text(json.dumps({"name": "plots", "version": "1.0.0", "private": True}))
