"""Planner question "Smaller for longer": train a smaller model longer until it reaches the same loss."""
