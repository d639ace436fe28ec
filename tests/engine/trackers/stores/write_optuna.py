"""Write the known runs as trials of Optuna: ``write_optuna.py FOLDER SITE_PACKAGES sqlite|journal``.

A second study has two objectives, a third study is deleted, and one trial waits.
"""

import json
import sys
from pathlib import Path

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial

folder, kind = Path(sys.argv[1]), sys.argv[3]
journal = JournalStorage(JournalFileBackend(str(folder / "trials.log"))) if kind == "journal" else None
storage = journal or f"sqlite:///{folder}/trials.db"
optuna.logging.set_verbosity(optuna.logging.ERROR)

optuna.create_study(storage=storage, study_name="deleted").ask()
optuna.delete_study(storage=storage, study_name="deleted")
study = optuna.create_study(storage=storage, study_name="sizes a/b")
study.set_metric_names(["val_loss"])
DISTRIBUTIONS = {
    "params": FloatDistribution(1e5, 1e10, log=True),
    "layers": IntDistribution(1, 8),
    "optimizer": CategoricalDistribution(["sgd", "adam", None]),
}
for run in json.load(sys.stdin):
    params = {"params": run["params"], "layers": 3, "optimizer": "adam"}
    attributes = {"tokens": run["tokens"], "model": {"name": run["name"], "widths": [1, 2]}}
    if run["state"] == "finished":
        points = dict(enumerate(run["losses"]))
        finished = {"params": params, "distributions": DISTRIBUTIONS, "user_attrs": attributes}
        study.add_trial(create_trial(value=run["losses"][-1], intermediate_values=points, **finished))
        continue
    study.enqueue_trial(params, user_attrs=attributes)
    trial = study.ask(DISTRIBUTIONS)
    for step, loss in enumerate(run["losses"]):
        trial.report(loss, step)
    if run["state"] == "failed":
        study.tell(trial, state=TrialState.FAIL)
study.enqueue_trial({"params": 1e6})

pareto = optuna.create_study(storage=storage, study_name="pareto", directions=["minimize", "maximize"])
trial = pareto.ask()
trial.suggest_categorical("optimizer", ["sgd", "adam", None])
pareto.tell(trial, [0.5, float("inf")])
pareto.tell(pareto.ask(), state=TrialState.PRUNED)
