"""Runs in JSON files (``*.json``). The object in a file contains settings, final metrics and sometimes curves."""

from __future__ import annotations

from isoplan.engine.trackers.plain.run_files import file_source

SOURCE = file_source("json", "JSON results", frozenset({".json"}))
"""The source of runs in JSON files."""
