"""Published laws as cards, and the script that writes them from the papers' tables."""
