"""Saved fits, plans, answers, and results of runs that were planned."""
