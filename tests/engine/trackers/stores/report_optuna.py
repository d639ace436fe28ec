"""Report one more value of the running trial number 39: ``report_optuna.py FOLDER SITE_PACKAGES STORAGE``."""

import sys

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

file = sys.argv[3]
storage = JournalStorage(JournalFileBackend(file)) if file.endswith(".log") else f"sqlite:///{file}"
study = optuna.load_study(storage=storage, study_name="sizes a/b")
optuna.Trial(study, study.trials[39]._trial_id).report(1.0, 1000)
