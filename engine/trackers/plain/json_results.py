"""Runs with one JSON object each (``*.json``), which contains settings, final metrics and perhaps curves."""

from __future__ import annotations

from isoplan.engine.trackers.plain.run_files import file_source

SOURCE = file_source("json", "JSON results", frozenset({".json"}))
"""The source of runs of JSON objects."""
