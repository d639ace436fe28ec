"""Backups of a workspace: selection of files, copy of a database in use, writing and restoring."""
