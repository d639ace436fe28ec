"""Stored run tables: import, filter, snapshots, and the runs that a law is fitted to."""
