"""A planner question of two modules: the loss at a multiple of the budget."""
