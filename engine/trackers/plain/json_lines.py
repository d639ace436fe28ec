"""Runs of training scripts that log JSON objects line by line: ``*.jsonl``, ``*.ndjson`` and ``*.log``."""

from __future__ import annotations

from isoplan.engine.trackers.plain.run_files import LOGS, file_source

SOURCE = file_source("jsonl", "JSON lines", LOGS)
"""The source of runs of logs of JSON objects."""
