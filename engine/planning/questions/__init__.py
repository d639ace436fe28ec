"""What every question of the planner has: its declaration, what is given, its answer, charts; and how it is found."""
