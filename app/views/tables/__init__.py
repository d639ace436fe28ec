"""Sections of the page Data: upload, roles of columns, questions about the runs, and rows of a table."""
