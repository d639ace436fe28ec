"""The numerical core and the tables: laws, fits, plans and the store. It contains no web code and no training code."""
