"""The folder of a cell (training run) on disk: its record, atomic writes, heartbeats, and copies for backups."""
