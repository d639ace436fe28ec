"""Backups of a workspace: select its files, copy a database that is in use, write a backup, restore from it."""
