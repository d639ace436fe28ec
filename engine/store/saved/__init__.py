"""Saved fits, plans and answers, and the actual results of planned runs."""
