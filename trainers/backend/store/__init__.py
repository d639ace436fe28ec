"""The folder of a cell on disk: its record, atomic writes, heartbeats, and copies for backups."""
