"""Event logs: files, columns, splits, synthetic logs, and what is known of them."""
