"""Planner question "Next values": which values of a swept setting to train next, to locate its optimum."""
