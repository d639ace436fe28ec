"""Export of any answer of the planner: JSON, CSV, Markdown, LaTeX, and Python that reproduces it."""
