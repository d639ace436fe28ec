"""Stored run tables: their import, their filters, snapshots of their rows, and the runs to which a law is fitted."""
