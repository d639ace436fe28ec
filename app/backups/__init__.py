"""Backups of a workspace: which files, a copy of a database that the app has open, writing and restoring."""
