"""Planner question "Smaller for longer": a smaller model that reaches the same loss by longer training."""
