"""Sections of the page Data: upload, mapping, questions, rows."""
