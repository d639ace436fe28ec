"""The folder of a cell on disk: records, atomic files, heartbeats, copies."""
