"""A planner question of two modules: what does a multiple of the budget buy?"""
