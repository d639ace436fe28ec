"""Runs whose logs have one JSON object on each line: ``*.jsonl``, ``*.ndjson`` and ``*.log``."""

from __future__ import annotations

from isoplan.engine.trackers.plain.run_files import LOGS, file_source

SOURCE = file_source("jsonl", "JSON lines", LOGS)
"""The source of runs in logs of JSON objects."""
