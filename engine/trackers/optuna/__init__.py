"""Trials of Optuna: SQLite storages and journal files."""
