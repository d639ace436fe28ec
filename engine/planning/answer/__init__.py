"""Export of any answer of the planner: JSON, CSV, Markdown, LaTeX, and a Python script that reproduces the answer."""
