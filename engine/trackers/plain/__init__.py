"""Sources of runs in plain files of settings, logs and results: one file per source."""
