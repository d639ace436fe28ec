"""Cards of published laws, and the script that writes them from the papers' tables."""
