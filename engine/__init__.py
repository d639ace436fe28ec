"""Numbers and tables: laws, fits, plans and the store. No web code and no training."""
