"""Plans compared with their actual results."""
