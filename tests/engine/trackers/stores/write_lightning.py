"""Write the known runs with Lightning's CSVLogger."""

import json
import sys

folder, packages = sys.argv[1:3]
sys.path.append(packages)

from lightning.pytorch.loggers import CSVLogger  # noqa: E402

for run in json.load(sys.stdin):
    logger = CSVLogger(folder, name=run["name"])
    logger.log_hyperparams({"model": {"params": run["params"]}, "tokens": run["tokens"], "betas": (0.9, 0.95)})
    for step, loss in enumerate(run["losses"]):
        logger.log_metrics({"val_loss": loss}, step=step)
    logger.save()
