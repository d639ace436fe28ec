"""Saved fits, plans, answers and actual results."""
