"""Recommender cells: the two-stage behavioural model on event logs, real or made here."""
