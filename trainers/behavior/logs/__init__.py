"""Event logs: files, columns, splits, synthetic logs, and their facts."""
