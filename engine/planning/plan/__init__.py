"""Budget and target: the allocation, its feasibility, its metric, its shadow prices, its text."""
