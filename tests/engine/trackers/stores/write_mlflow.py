"""Write the known runs with MLflow.

The words after FOLDER and SITE_PACKAGES are the kind of store (``database``, ``files``, or the address of a server),
and optionally ``extra``, which adds runs and values that an import must leave out or treat with care. With ``append``
in place of ``extra``, the script adds one value to the first run of an existing store.
"""

import json
import os
import sys
from itertools import count

os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "GIT_PYTHON_REFRESH": "quiet", "MLFLOW_DISABLE_TELEMETRY": "true"}

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag

folder, _, kind, *words = sys.argv[1:]
address = {"database": f"sqlite:///{folder}/mlflow.db", "files": f"file://{folder}/mlruns"}.get(kind, kind)
client = MlflowClient(address)
ENDS = {"finished": "FINISHED", "failed": "FAILED", "killed": "KILLED"}


STARTS = count(1_700_000_000_000, 1000)


def write(experiment, name, state, params, metrics, tags=()):
    """Log a run and return its id. ``metrics`` are tuples (key, value, time, step)."""
    run = client.create_run(experiment, run_name=name, start_time=next(STARTS)).info.run_id
    client.log_batch(
        run,
        [Metric(*metric) for metric in metrics],
        [Param(key, str(value)) for key, value in params.items()],
        [RunTag(*tag) for tag in tags],
    )
    if state != "running":
        client.set_terminated(run, ENDS[state], end_time=1_700_001_000_000)
    return run


if words == ["append"]:
    first = client.search_runs([client.get_experiment_by_name("sweep / one").experiment_id])[-1]
    client.log_metric(first.info.run_id, "val/loss", 1.25, step=1000, timestamp=1_700_000_000_999)
    raise SystemExit

experiment = client.create_experiment("sweep / one", artifact_location=f"{folder}/artifacts")
for run in json.load(sys.stdin):
    params = {"model/params": run["params"], "tokens": run["tokens"], "lr": run["lr"], "optimizer": "AdamW"}
    metrics = [("val/loss", loss, 1_700_000_000_000 + step, step) for step, loss in enumerate(run["losses"])]
    tags = [("group", "a b"), ("mlflow.source.name", "train.py"), ("mlflow.note.content", "not imported")]
    write(experiment, run["name"], run["state"], params, metrics, tags)

if words == ["extra"]:
    other = client.create_experiment("other", artifact_location=f"{folder}/artifacts")
    metrics = [
        *(("loss", value, time, step) for value, time, step in ((3, 5, 7), (2, 9, 7), (4, 1, 7), (9, 1, 0))),
        ("system/cpu_utilization_percentage", 50, 1, 1),
        *(("bad", value, 1, step) for step, value in enumerate((1.0, float("nan"), float("inf"), -float("inf")))),
    ]
    write(other, "same name", "killed", {"flag": "True", "text": "a\nb", "n": "1e3"}, metrics)
    write(other, "same name", "finished", {}, [])
    client.delete_run(write(other, "deleted", "finished", {"n": 1}, [("loss", 1, 1, 1)]))
    gone = client.create_experiment("deleted experiment", artifact_location=f"{folder}/artifacts")
    write(gone, "gone", "finished", {"n": 1}, [("loss", 1, 1, 1)])
    client.delete_experiment(gone)
