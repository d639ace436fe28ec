"""Reliability measures: hostile input, kills, faults of the machine, many users at once."""
