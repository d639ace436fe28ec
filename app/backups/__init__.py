"""Backups of a workspace: select files, copy a database that is in use, write a backup, and restore a workspace."""
