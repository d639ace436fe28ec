"""Event logs: files, columns, splits, synthetic logs, and properties of logs."""
