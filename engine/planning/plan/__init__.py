"""Plans for a budget or a target: the allocation, its feasibility, its metric, its shadow prices, its text."""
