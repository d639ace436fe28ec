"""Numbers and tables: laws, fits, plans and the store. Knows no browser and trains nothing."""
